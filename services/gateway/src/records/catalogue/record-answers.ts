import { newUuid, isUuid, type OrgId } from '@runledger/contracts/ids';
import type { DeleteRecords } from './delete-records.ts';
import type { RemovedRecord, ChangedRecord, CreatedRecord, RecordIdentity, RecordSpan } from './records.ts';
import type { Catalogue } from './catalogue.ts';
import type { KeptReady } from './kept-ready.ts';
import { notFound, Refused, sentence, type Conflict, type RecordKind } from '../../door/refusal.ts';
import { withinQuota, type Quotas } from '../quotas/quotas.ts';
import type { SchedulerClient } from '../operators/scheduler-client.ts';
import { operation } from '../../door/operation.ts';
import type { TObject, TSchema } from 'typebox';
import { checkCursor, decodeCursor, DEFAULT_LIMIT } from '../../door/pagination.ts';
import { longestRunMs } from '@runledger/contracts/lifetimes';
import type { Kit } from '../../kit.ts';
import { readLogAge } from '@runledger/event-log/read/stream-identity';

/** What the operations on the records of one kind say about them. */
interface SaidOfRecords {
  readonly tag: 'Catalogue' | 'Schedules';
  /** The usual summaries, where these are left out. */
  readonly summaries: { readonly get?: string; readonly change: string; readonly delete?: string };
  readonly descriptions: Readonly<Record<'create' | 'change' | 'delete', string>>;
  /** Operations that a client can call with the id of a new one, beside these. */
  readonly links?: readonly string[];
  /** Whether the present state can forbid them. */
  readonly conflicts: readonly 409[];
}

/** The operations on the records of one kind: what is the same for all kinds, and what each says about its own. */
export const recordOperations = <
  Path extends TObject,
  Query extends TObject,
  Page extends TSchema,
  Shown extends TSchema,
  New extends TSchema,
  Change extends TSchema,
>(
  kind: 'machine' | 'workflow' | 'deployment' | 'schedule',
  schemas: { path: Path; query: Query; page: Page; shown: Shown; create: New; change: Change },
  { tag, summaries, descriptions, links = [], conflicts }: SaidOfRecords,
) =>
  ({
    create: operation({
      id: `create${sentence(kind)}`,
      method: 'POST',
      path: `/${kind}s`,
      tag,
      summary: `Create a ${kind}`,
      description: descriptions.create,
      scope: 'admin',
      audit: { action: `${kind}.created` },
      request: { body: schemas.create },
      response: {
        status: 201,
        description: `The ${kind}.`,
        body: schemas.shown,
        links: {
          to: [`get${sentence(kind)}`, `change${sentence(kind)}`, `delete${sentence(kind)}`, ...links],
          parameters: { [`${kind}_id`]: '/id' },
        },
      },
      refusals: conflicts,
    }),
    list: operation({
      id: `list${sentence(kind)}s`,
      method: 'GET',
      path: `/${kind}s`,
      tag,
      summary: `List ${kind}s`,
      description: 'Newest first.',
      scope: 'runs:read',
      request: { query: schemas.query },
      response: { status: 200, description: `A page of ${kind}s.`, body: schemas.page },
    }),
    get: operation({
      id: `get${sentence(kind)}`,
      method: 'GET',
      path: `/${kind}s/{${kind}_id}`,
      tag,
      summary: summaries.get ?? `Read a ${kind}`,
      scope: 'runs:read',
      request: { path: schemas.path },
      response: { status: 200, description: `The ${kind}.`, body: schemas.shown },
      refusals: [404],
    }),
    change: operation({
      id: `change${sentence(kind)}`,
      method: 'PATCH',
      path: `/${kind}s/{${kind}_id}`,
      tag,
      summary: summaries.change,
      description: descriptions.change,
      scope: 'admin',
      audit: { action: `${kind}.changed`, target: `${kind}_id` },
      request: { path: schemas.path, body: schemas.change },
      response: { status: 200, description: `The ${kind} as it is now.`, body: schemas.shown },
      refusals: [404, ...conflicts],
    }),
    delete: operation({
      id: `delete${sentence(kind)}`,
      method: 'DELETE',
      path: `/${kind}s/{${kind}_id}`,
      tag,
      summary: summaries.delete ?? `Delete a ${kind}`,
      description: descriptions.delete,
      scope: 'admin',
      audit: { action: `${kind}.deleted`, target: `${kind}_id` },
      request: { path: schemas.path },
      response: { status: 204, description: `The ${kind} is deleted.` },
      refusals: [404, ...conflicts],
    }),
  }) as const;

/** What the operations on records share. */
export interface CatalogueOperations {
  readonly records: Catalogue;
  readonly deletion: DeleteRecords;
  readonly longestRun: LongestRun;
  readonly scheduler: SchedulerClient;
  readonly quotas: Quotas;
  readonly ready: KeptReady;
}

/** Creates records, unless the organisation would have more than it may have. */
export const withinRecordQuota = <Result>(
  { catalogue_records: quota }: Quotas,
  org_id: OrgId,
  records: number,
  create: () => Promise<Result>,
): Promise<Result> =>
  withinQuota(
    quota,
    org_id,
    records,
    create,
    `${tooMany(quota.limit, records)}: change one of them, or ask the operator for a higher RUNLEDGER_QUOTA_CATALOGUE_RECORDS`,
  );

const tooMany = (limit: number, records: number): string =>
  records === 1
    ? `The organisation has ${limit} machines, workflows, versions and deployments, archived ones included, which is its limit`
    : `This needs ${records} more machines, workflows, versions and deployments, and the organisation may have ${limit}, archived ones included`;

/** Stores these bytes of a workflow, unless the organisation would then have more than it may have. */
export const withinWorkflowQuota = <Result>(
  { workflow_bytes: quota }: Quotas,
  org_id: OrgId,
  bytes: number,
  store: () => Promise<Result>,
): Promise<Result> =>
  withinQuota(
    quota,
    org_id,
    bytes,
    store,
    `The workflows of the organisation, with the definitions of their inputs, would have more than its limit of ${quota.limit} bytes: ask the operator for a higher RUNLEDGER_QUOTA_WORKFLOW_BYTES`,
  );

/** What a record of the caller's organisation begins with. */
export const newIdentity = (org_id: OrgId, now: () => Date): RecordIdentity => ({
  id: newUuid(),
  org_id,
  created_at: now().toISOString(),
});

/** The record that was created, or as it is now. */
export const changed = <Stored, No>(
  result: CreatedRecord<Stored, No> | ChangedRecord<Stored, No>,
  what: RecordKind,
  refused: (why: No) => Refused,
): Stored => {
  switch (result.kind) {
    case 'created':
    case 'changed':
      return result.record;
    case 'refused':
      throw refused(result.why);
    case 'none':
      throw notFound(what);
    case 'too_busy':
      throw tooBusy(what);
  }
};

/** Nothing is left of the record. */
export const deleted = (result: RemovedRecord<Conflict>, what: RecordKind): undefined =>
  result.kind === 'removed' ? undefined : changed<undefined, Conflict>(result, what, refusedBy);

export const tooBusy = (what: RecordKind): Refused =>
  new Refused({
    code: 'changed_concurrently',
    why: `The ${what.toLowerCase()} was changed again and again at the same time. Nothing was done: try again`,
  });

/** The refusal of a change that the present state forbids. */
export const refusedBy = (why: Conflict): Refused => new Refused(why);

interface ListQuery {
  readonly archived?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The part of a list of records that a query asks for. */
export const recordSpan = ({ archived = false, limit = DEFAULT_LIMIT, cursor }: ListQuery): RecordSpan => ({
  archived,
  limit,
  after: cursor === undefined ? undefined : decodeCursor(cursor),
});

/** Whether a record has the name that a query asks for. */
export const isNamed =
  ({ name }: { readonly name?: string | undefined }) =>
  (record: { readonly name: string }): boolean =>
    name === undefined || record.name === name;

const SORT_KEY = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z\.(.*)$/;

/** Whether a cursor comes from a list of records. */
export const checkRecordCursor = checkCursor((text) => isUuid(SORT_KEY.exec(text)?.[1] ?? ''));

/** The same for lists of numbered things. */
export const checkNumberCursor = checkCursor((text) => /^[1-9]\d{0,9}$/.test(text));

/** Seconds that a run may live, so that the log keeps its facts until its notification is delivered. @throws {LogUnavailable} */
export type LongestRun = () => Promise<number>;

const CACHED_MS = 5_000;

/** From the log as it is, not from its settings: an operator may change them at any time. */
export const longestRun = ({ config, log, clock }: Kit): LongestRun => {
  const webhookGiveUp = config.RUNLEDGER_WEBHOOK_GIVE_UP_S * 1_000;
  let known: { readonly at: number; readonly seconds: number } | undefined;
  return async () => {
    if (!known || clock() - known.at >= CACHED_MS) {
      const { maxAgeMs } = await readLogAge(log);
      const seconds = longestRunMs({ log: maxAgeMs, webhookGiveUp }) / 1_000;
      known = { at: clock(), seconds };
    }
    return known.seconds;
  };
};
