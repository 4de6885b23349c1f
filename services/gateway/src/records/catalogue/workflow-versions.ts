import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { NumberedVersion, WorkflowVersion } from '@runledger/contracts/catalogue/records';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import { openBucket, type Bucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { jsonBlob, readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import {
  changeRecord,
  removeRecord,
  type ChangedRecord,
  type Decide,
  type RefuseRemoval,
  type RemovedRecord,
} from './records.ts';
import {
  listed,
  knownRecords,
  recentOrganisations,
  numberedPage,
  type Listed,
  type NumberedPage,
  type NumberedSpan,
} from './known-records.ts';

/** A version whose id and number are known, such as the first of a new workflow. */
export type FixedVersion = NewVersion & Pick<WorkflowVersion, 'number'>;

type AddedVersion =
  | { readonly kind: 'added'; readonly version: NumberedVersion }
  /** Other writers took one number after the other. */
  | { readonly kind: 'too_busy' };

/**
 * Versions of workflows, numbered 1, 2, 3, …. The newest one is removed with its workflow only: no number is given twice. A version is its workflow, which is a blob, its record, which never
 * changes, and an entry under its number, which makes it visible and says whether it is archived. They are stored in this order, so
 * a version with a number is complete. Every method may throw LogUnavailable.
 */
export interface WorkflowVersions {
  /** Also an archived version. */
  get(org: string, id: string): Promise<NumberedVersion | undefined>;
  /** The version alone, as runs need it. */
  getRecord(org: string, id: string): Promise<WorkflowVersion | undefined>;
  /** How many the organisation has, archived ones too. */
  count(org: string): Promise<number>;
  /** Undefined when the workflow is lost, or damaged. */
  workflowOf(version: WorkflowVersion): Promise<JsonValue | undefined>;
  /** Of all its workflows, equal ones once, and of the definitions of inputs of all versions. */
  bytes(org: string): Promise<number>;
  /** Of all its workflows, with every acknowledged version. */
  hashes(org: string): Promise<ReadonlySet<string>>;
  /** Gives it the next number. @throws {BlobStoreFull} */
  add(version: NewVersion): Promise<AddedVersion>;
  /** False when one with this id exists. @throws {BlobStoreFull} */
  create(version: FixedVersion): Promise<boolean>;
  page(org: string, workflow: string, span: NumberedSpan): Promise<NumberedPage>;
  /** Forgets what is cached. It is read again when it is needed. */
  forget(): void;
  change<No>(
    version: NumberedName,
    decide: Decide<NumberedVersion, No>,
  ): Promise<ChangedRecord<NumberedVersion, No>>;
  /** The versions of a workflow, newest first. Numbers have gaps where versions were removed. */
  ofWorkflow(org: string, workflow: string): Promise<readonly ListedVersion[]>;
  /** Its workflow stays until a sweep finds that no version has it. */
  remove<No>(
    version: NumberedName & Pick<NumberedVersion, 'id'>,
    refuse: RefuseRemoval<NumberedVersion, No>,
  ): Promise<RemovedRecord<No>>;
}

type NumberedName = Pick<NumberedVersion, 'org_id' | 'workflow_id' | 'number'>;

const MAX_TRIES = 100;
/** Of all organisations; about 400 bytes each. */
const MAX_CACHED = 50_000;

export const openWorkflowVersions = (log: EventLog): WorkflowVersions => {
  const records = openBucket(log, 'CATALOGUE', WorkflowVersion);
  const numbers = openBucket(log, 'CATALOGUE', NumberedVersion);
  const workflows = workflowBlobs(openBlobStores(log).workflows);
  const numbered = async (name: NumberedName): Promise<NumberedVersion | undefined> =>
    (await numbers.get(numberKey(name)))?.value;
  const getRecord = async (org: string, id: string): Promise<WorkflowVersion | undefined> =>
    (await records.get(recordKey(org, id)))?.value;

  const known = recentOrganisations(MAX_CACHED, (org) =>
    knownRecords(numbers, `${NUMBERED}.${org}`, listedNumber),
  );

  const ofWorkflow: WorkflowVersions['ofWorkflow'] = async (org, workflow) =>
    (await known.of(org).now()).newestFirst
      .filter(({ workflow_id }) => workflow_id === workflow)
      .toSorted((a, b) => b.number - a.number);
  /** 0 without versions. */
  const newestOf = async (org: string, workflow: string): Promise<number> =>
    (await ofWorkflow(org, workflow))[0]?.number ?? 0;

  return {
    getRecord,
    forget: () => known.forgetAll(),
    count: async (org) => (await known.of(org).now()).newestFirst.length,
    bytes: async (org) => bytesOf((await known.of(org).now()).newestFirst),
    hashes: async (org) => new Set((await known.of(org).now()).newestFirst.map(({ sha256 }) => sha256)),
    get: async (org, id) => {
      const record = await getRecord(org, id);
      const entry = record && (await numbered(record));
      return entry?.id === id ? entry : undefined;
    },
    workflowOf: (version) => workflows.of(version),
    ...creating({ records, numbers, workflows, numbered, getRecord, newestOf }),
    page: async (org_id, workflow_id, span) => {
      const at = (number: number) => numbered({ org_id, workflow_id, number });
      return numberedPage(at, { ...span, newest: await newestOf(org_id, workflow_id) });
    },
    ofWorkflow,
    // First the entry that makes it visible. After a crash in between, nothing finds the rest.
    remove: async (version, refuse) => {
      const { org_id, id } = version;
      const removed = await removeRecord(numbers, numberKey(version), refuse);
      if (removed.kind === 'refused' || removed.kind === 'too_busy') return removed;
      await records.erase(recordKey(org_id, id));
      (await known.of(org_id).now()).delete(numberName(version));
      return removed;
    },
    change: (name, decide) => changeRecord(numbers, numberKey(name), decide),
  };
};

interface Creating extends Pick<WorkflowVersions, 'getRecord'> {
  readonly records: Bucket<WorkflowVersion>;
  readonly numbers: Bucket<NumberedVersion>;
  readonly workflows: ReturnType<typeof workflowBlobs>;
  readonly numbered: (name: NumberedName) => Promise<NumberedVersion | undefined>;
  readonly newestOf: (org: string, workflow: string) => Promise<number>;
}

const creating = ({
  records,
  numbers,
  workflows,
  numbered,
  getRecord,
  newestOf,
}: Creating): Pick<WorkflowVersions, 'add' | 'create'> => {
  /** False when the number belongs to another version. */
  const claim = async (version: WorkflowVersion): Promise<boolean> =>
    (await numbers.create(numberKey(version), { ...version, archived: false })) !== false ||
    (await numbered(version))?.id === version.id;

  return {
    add: async (given) => {
      const version = await workflows.put(given);
      const { org_id, workflow_id, id } = version;
      const key = recordKey(org_id, id);
      const newest = await newestOf(org_id, workflow_id);
      for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
        const record: WorkflowVersion = { ...version, number: newest + tries };
        // Nobody else writes it, as its id is new. A new leader may still see what was erased, and refuse to create it again.
        await records.put(key, record);
        if (await claim(record)) return { kind: 'added', version: { ...record, archived: false } };
      }
      await records.erase(key);
      return { kind: 'too_busy' };
    },
    create: async (given) => {
      const key = recordKey(given.org_id, given.id);
      // Also for a version that an interrupted start left without a number: nothing referred to its workflow.
      const version = { ...(await workflows.put(given)), number: given.number };
      const isNew = (await records.create(key, version)) !== false;
      // An interrupted start may have left a version without a number.
      const stored = isNew ? version : await getRecord(version.org_id, version.id);
      if (stored && !(await claim(stored)) && isNew) {
        await records.erase(key);
        throw new TypeError(
          `The number ${version.number} of workflow ${version.workflow_id} belongs to another version. Take the next one.`,
        );
      }
      return isNew;
    },
  };
};

const recordKey = (org: string, id: string): string => `workflow_versions.${org}.${id}`;

const DIGITS = 10;
const NUMBERED = 'workflow_versions_by_number';
const numberKey = ({ org_id, ...version }: NumberedName): string =>
  `${NUMBERED}.${org_id}.${numberName(version)}`;
const numberName = ({ workflow_id, number }: Omit<NumberedName, 'org_id'>): string =>
  `${workflow_id}.${String(number).padStart(DIGITS, '0')}`;

interface ListedVersion extends Listed, Pick<NumberedVersion, 'workflow_id' | 'number' | 'sha256' | 'bytes'> {
  readonly version_id: string;
  readonly inputsBytes: number;
}

const listedNumber = (version: NumberedVersion): ListedVersion => ({
  ...listed({ ...version, id: numberName(version) }),
  version_id: version.id,
  workflow_id: version.workflow_id,
  number: version.number,
  sha256: version.sha256,
  bytes: version.bytes,
  inputsBytes: jsonBytes(version.inputs),
});

const bytesOf = (versions: readonly ListedVersion[]): number => {
  const workflows = new Map(versions.map(({ sha256, bytes }) => [sha256, bytes]));
  const inputs = versions.map(({ inputsBytes }) => inputsBytes);
  return [...workflows.values(), ...inputs].reduce((sum, bytes) => sum + bytes, 0);
};

/** A version with its workflow, before it is stored. */
export type NewVersion = Omit<WorkflowVersion, 'number' | 'sha256' | 'bytes'> & {
  readonly workflow: JsonValue;
};

/** The workflows of versions, which their records only name. Every method may throw LogUnavailable. */
interface WorkflowBlobs {
  /** Stores the workflow, and gives the record of the version. @throws {BlobStoreFull} */
  put(version: NewVersion): Promise<Omit<WorkflowVersion, 'number'>>;
  /** Undefined when the workflow is lost, or damaged. */
  of(version: WorkflowVersion): Promise<JsonValue | undefined>;
}

const workflowBlobs = (store: BlobStore): WorkflowBlobs => ({
  put: async ({ workflow, ...version }) => ({
    ...version,
    ...(await store.put(version.org_id, jsonBlob(workflow))),
  }),
  of: async ({ org_id, sha256 }) => {
    const read = await readJsonBlob(store, org_id, sha256);
    return read.kind === 'found' ? read.value : undefined;
  },
});
