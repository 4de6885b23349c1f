import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { NumberedVersion, type WorkflowVersion } from '@runledger/contracts/catalogue/records';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openTables } from '@runledger/event-log/table/table';
import { jsonBlob, readJsonBlob } from '@runledger/blob-store/json-blob';
import {
  changeRecord,
  removeRecord,
  type ChangedRecord,
  type Decide,
  type RefuseRemoval,
  type RemovedRecord,
} from './records.ts';

/** A version whose id and number are known, such as the first of a new workflow. */
export type FixedVersion = NewVersion & Pick<WorkflowVersion, 'number'>;

type AddedVersion =
  | { readonly kind: 'added'; readonly version: NumberedVersion }
  /** Other writers took one number after the other. */
  | { readonly kind: 'too_busy' };

/**
 * Versions of workflows, numbered 1, 2, 3, …. The newest one is removed with its workflow only: no number is given twice. A version is its
 * workflow, which is a blob and is stored first, and a record under its number, which whoever creates it first has. Every method may throw
 * LogUnavailable.
 */
export interface WorkflowVersions {
  /** Also an archived version. */
  get(org: string, id: string): Promise<NumberedVersion | undefined>;
  /** How many the organisation has, archived ones too. */
  count(org: string): Promise<number>;
  /** Undefined when the workflow is lost, or damaged. */
  workflowOf(version: WorkflowVersion): Promise<JsonValue | undefined>;
  /** Of all its workflows and their code, equal ones once, and of the definitions of inputs of all versions. */
  bytes(org: string): Promise<number>;
  /** Of all its workflows and the pieces of their code, with every acknowledged version. */
  hashes(org: string): Promise<ReadonlySet<string>>;
  /** How many versions name each model that is kept for the organisation, by its SHA-256, with every acknowledged version. */
  models(org: string): Promise<ReadonlyMap<string, number>>;
  /** Gives it the next number. @throws {BlobStoreFull} */
  add(version: NewVersion): Promise<AddedVersion>;
  /** False when this version exists. @throws {BlobStoreFull} @throws TypeError when its number belongs to another one */
  create(version: FixedVersion): Promise<boolean>;
  page(org: string, workflow: string, span: NumberedSpan): Promise<NumberedPage>;
  change<No>(
    version: NumberedName,
    decide: Decide<NumberedVersion, No>,
  ): Promise<ChangedRecord<NumberedVersion, No>>;
  /** The versions of a workflow, newest first. Numbers have gaps where versions were removed. */
  ofWorkflow(org: string, workflow: string): Promise<readonly StoredVersion[]>;
  /** Its workflow stays until a sweep finds that no version has it. */
  remove<No>(version: NumberedName, refuse: RefuseRemoval<NumberedVersion, No>): Promise<RemovedRecord<No>>;
}

type NumberedName = Pick<NumberedVersion, 'org_id' | 'workflow_id' | 'number'>;

interface NumberedSpan {
  readonly limit: number;
  readonly archived: boolean;
  /** Only versions with a smaller number. */
  readonly below?: number;
}

interface NumberedPage {
  /** Newest first. */
  readonly versions: readonly NumberedVersion[];
  /** The next page has smaller numbers than this; undefined when nothing follows. */
  readonly below: number | undefined;
}

const MAX_TRIES = 100;

export const openWorkflowVersions = (log: EventLog): WorkflowVersions => {
  const records = openTables(log, {
    bucket: 'CATALOGUE',
    prefix: KIND,
    schema: NumberedVersion,
    keep: kept,
    indexes: { id: ({ id }) => id, workflow: ({ workflow_id }) => workflow_id },
    sortKey: ({ number }) => String(number).padStart(DIGITS, '0'),
  });
  const { workflows } = openBlobStores(log);
  /** With the workflow stored. @throws {BlobStoreFull} */
  const stored = async ({ workflow, ...version }: NewVersion) => ({
    ...version,
    ...(await workflows.put(version.org_id, jsonBlob(workflow))),
    archived: false,
  });
  const read = async (key: string): Promise<NumberedVersion | undefined> => (await records.get(key))?.value;
  const all = async (org: string): Promise<readonly StoredVersion[]> =>
    (await records.of(org).now()).newestFirst().map(({ value }) => value);
  const ofWorkflow: WorkflowVersions['ofWorkflow'] = async (org, workflow) =>
    (await records.of(org).now())
      .of('workflow', workflow)
      .map(({ value }) => value)
      .toSorted((a, b) => b.number - a.number);

  return {
    // A version never gets another number, so it does not matter how old this is.
    get: async (org, id) => {
      const table = records.of(org);
      const found = table.recent(Infinity)?.by('id', id) ?? (await table.now()).by('id', id);
      return found && read(found.key);
    },
    count: async (org) => (await all(org)).length,
    bytes: async (org) => bytesOf(await all(org)),
    hashes: async (org) =>
      new Set((await all(org)).flatMap(({ sha256, code }) => [sha256, ...(code?.pieces ?? [])])),
    models: async (org) => {
      const uses = new Map<string, number>();
      for (const { models = [] } of await all(org))
        for (const sha256 of models) uses.set(sha256, (uses.get(sha256) ?? 0) + 1);
      return uses;
    },
    workflowOf: async ({ org_id, sha256 }) => {
      const found = await readJsonBlob(workflows, org_id, sha256);
      return found.kind === 'found' ? found.value : undefined;
    },
    add: async (given) => {
      const version = await stored(given);
      const [newest] = await ofWorkflow(version.org_id, version.workflow_id);
      for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
        const numbered = { ...version, number: (newest?.number ?? 0) + tries };
        if ((await records.create(keyOf(numbered), numbered)) !== false)
          return { kind: 'added', version: numbered };
      }
      return { kind: 'too_busy' };
    },
    create: async (given) => {
      const version = { ...(await stored(given)), number: given.number };
      if ((await records.create(keyOf(version), version)) !== false) return true;
      if ((await read(keyOf(version)))?.id === version.id) return false;
      throw new TypeError(
        `The number ${version.number} of workflow ${version.workflow_id} belongs to another version. Take the next one.`,
      );
    },
    page: async (org_id, workflow_id, { limit, archived, below = Infinity }) => {
      const matching = (await ofWorkflow(org_id, workflow_id)).filter(
        (version) => version.number < below && version.archived === archived,
      );
      const page = matching.slice(0, limit);
      const versions = await Promise.all(
        page.map(({ number }) => read(keyOf({ org_id, workflow_id, number }))),
      );
      return {
        // One may have been changed or deleted just now.
        versions: versions
          .filter((version) => version !== undefined)
          .filter((version) => version.archived === archived),
        below: matching.length > limit ? page.at(-1)?.number : undefined,
      };
    },
    ofWorkflow,
    remove: (version, refuse) => removeRecord(records, keyOf(version), refuse),
    change: (version, decide) => changeRecord(records, keyOf(version), decide),
  };
};

const KIND = 'workflow_versions';
const DIGITS = 10;
const keyOf = ({ org_id, workflow_id, number }: NumberedName): string =>
  `${KIND}.${org_id}.${workflow_id}.${String(number).padStart(DIGITS, '0')}`;

/** What is held in memory of a version. The definitions of its inputs may be large. */
const kept = ({
  id,
  workflow_id,
  number,
  sha256,
  bytes,
  code,
  models,
  archived,
  inputs,
}: NumberedVersion) => ({
  id,
  workflow_id,
  number,
  sha256,
  bytes,
  code,
  models,
  archived,
  inputsBytes: jsonBytes(inputs),
});
type StoredVersion = ReturnType<typeof kept>;

const bytesOf = (versions: readonly StoredVersion[]): number => {
  const workflows = new Map(versions.map(({ sha256, bytes }) => [sha256, bytes]));
  const code = new Map(
    versions.flatMap((version) => (version.code ? [[version.code.sha256, version.code.bytes]] : [])),
  );
  const inputs = versions.map(({ inputsBytes }) => inputsBytes);
  return [...workflows.values(), ...code.values(), ...inputs].reduce((sum, bytes) => sum + bytes, 0);
};

/** A version with its workflow, before it is stored. */
type NewVersion = Omit<WorkflowVersion, 'number' | 'sha256' | 'bytes'> & {
  readonly workflow: JsonValue;
};
