import type { BlobStream } from '@runledger/contracts/blobs';
import { gpuOf, isDeleted, isEnded, type Run, type RunState } from '@runledger/contracts/fold/run';
import { isUnsettled, type Webhook } from '@runledger/contracts/fold/webhook';
import { orgId, runId } from '@runledger/contracts/ids';
import { parseJson } from '@runledger/contracts/json';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import { outputsToErase, type StoredView } from './run-view.ts';
import { searchTextOf } from './run-search.decide.ts';
import { sortKeyOf } from './sort-key.decide.ts';

/* oxlint-disable no-restricted-globals -- it parses times; it does not read the clock */

/** When it began to execute is of the first attempt that did. */
const momentsOf = (run: Run) => {
  const earlier = run.earlier_attempts.find(({ started_at }) => started_at !== null);
  return {
    created_ms: Date.parse(run.created_at),
    started_ms: msOf(earlier?.started_at ?? ('started_at' in run ? run.started_at : null)),
    ended_ms: msOf(isEnded(run) ? run.ended_at : null),
  };
};

const msOf = (time: string | null): number | null => (time === null ? null : Date.parse(time));

/**
 * Of what is stored: the columns, their meaning, and the states of the folds. A gateway uses views of its own version only; views of another
 * one are made anew, beside them. Add 1 for a change of any of it.
 */
export const VIEW_VERSION = 5;

/**
 * A view as a database stores it: the columns of SQLite with their types, and the members of a document. The folds are JSON text: inputs
 * and outputs may have names and values that a database changes or refuses (`$ref`, `_bsontype`, NUL, names that are numbers). What lists
 * filter and sort by is beside them, and a deleted run has none of it but null or 0, so no list finds it.
 */
export const COLUMN_TYPES = {
  run_id: 'TEXT PRIMARY KEY',
  org_id: 'TEXT NOT NULL',
  sort_key: 'TEXT',
  head: 'INTEGER NOT NULL',
  number: 'INTEGER NOT NULL',
  status: 'TEXT NOT NULL',
  deployment_id: 'TEXT',
  workflow_id: 'TEXT',
  gpu: 'TEXT',
  origin: 'TEXT',
  created_at: 'TEXT NOT NULL',
  // The broker's times, in milliseconds since 1970; null for what has not come.
  created_ms: 'INTEGER',
  started_ms: 'INTEGER',
  ended_ms: 'INTEGER',
  updated_at: 'TEXT NOT NULL',
  output_bytes: 'INTEGER NOT NULL',
  // 1 while it has ended and its final notification is not settled, otherwise 0.
  unsettled: 'INTEGER NOT NULL',
  // 1 while files of deleted outputs have to be erased, otherwise 0.
  to_erase: 'INTEGER NOT NULL',
  // What is named here must not be erased.
  inputs_blob: 'TEXT',
  inputs_blob_bytes: 'INTEGER NOT NULL',
  outputs_blob: 'TEXT',
  outputs_blob_bytes: 'INTEGER NOT NULL',
  log_blob: 'TEXT',
  log_blob_bytes: 'INTEGER NOT NULL',
  // Null once the run has ended: it then only shows these names.
  live_workflow_sha256: 'TEXT',
  live_workflow_version_id: 'TEXT',
  live_deployment_id: 'TEXT',
  live_machine_id: 'TEXT',
  webhook_head: 'INTEGER NOT NULL',
  // The fold of the webhook facts; null before the first.
  webhook: 'TEXT',
  // These are null for a run without a webhook.
  webhook_status: 'TEXT',
  webhook_host: 'TEXT',
  webhook_url: 'TEXT',
  // The last, since it may be large: SQLite reads a row up to the columns that it needs.
  run: 'TEXT NOT NULL',
} as const;

export type Column = keyof typeof COLUMN_TYPES;
type ValueOf<Type extends string> =
  | (Type extends `TEXT${string}` ? string : number)
  | (Type extends `${string} ${string}` ? never : null);

type Columns = { readonly [Name in Column]: ValueOf<(typeof COLUMN_TYPES)[Name]> };

/** In SQLite the other two are rows of their own. */
export interface StoredRun extends Columns {
  /** With one for its schedule; null without any. */
  readonly tags: readonly string[] | null;
  /** What a search looks at. */
  readonly search_text: string | null;
}

export const storedRun = ({ head, run, webhook }: StoredView): StoredRun => ({
  run_id: run.run_id,
  org_id: run.org_id,
  head,
  number: run.number,
  status: run.status,
  created_at: run.created_at,
  to_erase: outputsToErase(run) === null ? 0 : 1,
  ...referencesOf(run),
  run: JSON.stringify(run),
  webhook_head: webhook.head,
  webhook: webhook.state === undefined ? null : JSON.stringify(webhook.state),
  ...(isDeleted(run) ? { ...NOT_LISTED, updated_at: run.deleted_at } : listedBy(run, webhook.state)),
});

const referencesOf = (run: RunState) => {
  const request = isDeleted(run) ? undefined : run.request;
  // The list of deleted outputs names the files that are to be erased.
  const outputs = (isEnded(run) ? run.outputs_blob : null) ?? outputsToErase(run)?.outputs_blob ?? null;
  const log = isDeleted(run) ? undefined : run.log_blob;
  const live = isEnded(run) ? undefined : request;
  return {
    inputs_blob: request?.inputs_blob?.sha256 ?? null,
    inputs_blob_bytes: request?.inputs_blob?.bytes ?? 0,
    outputs_blob: outputs?.sha256 ?? null,
    outputs_blob_bytes: outputs?.bytes ?? 0,
    log_blob: log?.sha256 ?? null,
    log_blob_bytes: log?.bytes ?? 0,
    live_workflow_sha256: live?.workflow_sha256 ?? null,
    live_workflow_version_id: live?.workflow_version_id ?? null,
    live_deployment_id: live?.deployment_id ?? null,
    live_machine_id: live?.machine_id ?? null,
  };
};

const listedBy = (run: Run, webhook: Webhook | undefined) => ({
  sort_key: sortKeyOf(run),
  ...momentsOf(run),
  deployment_id: run.request.deployment_id,
  workflow_id: run.request.workflow_id,
  gpu: gpuOf(run),
  origin: run.request.origin,
  tags: tagsOf(run.request),
  search_text: searchTextOf(run),
  updated_at: run.updated_at,
  output_bytes: run.output_bytes,
  unsettled: isUnsettled(run, webhook) ? 1 : 0,
  webhook_status: webhookStatus(run, webhook),
  webhook_host: webhookHost(run.request.webhook),
  webhook_url: run.request.webhook,
});

const NOT_LISTED = {
  sort_key: null,
  created_ms: null,
  started_ms: null,
  ended_ms: null,
  deployment_id: null,
  workflow_id: null,
  gpu: null,
  origin: null,
  tags: null,
  search_text: null,
  output_bytes: 0,
  unsettled: 0,
  webhook_status: null,
  webhook_host: null,
  webhook_url: null,
} as const;

/** What `viewOf` needs. Views of every version have these four. */
export const VIEW_FIELDS = ['head', 'run', 'webhook_head', 'webhook'] as const satisfies Column[];
export type StoredFolds = Pick<StoredRun, (typeof VIEW_FIELDS)[number]>;

/** Only `storedRun` makes what is stored, so its text needs no check. */
export const viewOf = ({ head, run, webhook_head, webhook }: StoredFolds): StoredView => ({
  head,
  run: parseJson(run) as RunState,
  webhook: { head: webhook_head, state: webhookOf(webhook) },
});

/** What `rowOf` needs: the run itself may be large. */
export const ROW_FIELDS = [
  'run_id',
  'org_id',
  'number',
  'created_at',
  'updated_at',
  'webhook',
  'webhook_host',
  'webhook_url',
] as const satisfies Column[];

export const rowOf = (stored: StoredRun): WebhookRow => ({
  org_id: orgId(stored.org_id),
  run_id: runId(stored.run_id),
  number: stored.number,
  url: stored.webhook_url ?? '',
  host: stored.webhook_host,
  created_at: stored.created_at,
  updated_at: stored.updated_at,
  webhook: webhookOf(stored.webhook),
});

const webhookOf = (text: string | null): Webhook | undefined =>
  text === null ? undefined : (parseJson(text) as Webhook);

/** Views are found by the schedule that queued the run as by its tags. No client can write a tag with a space. */
export const scheduleTag = (scheduleId: string): string => `schedule ${scheduleId}`;

/** Null without any. */
const tagsOf = ({ tags = [], schedule }: Run['request']): readonly string[] | null => {
  const all = schedule ? [...tags, scheduleTag(schedule.id)] : tags;
  return all.length === 0 ? null : all;
};

/** The key of a run in maps. Its id alone is only unique within its organisation. */
export const runName = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;

/** What a list shows of a run with a webhook, without its inputs and outputs, which may be large. */
export interface WebhookRow extends RunKey {
  readonly number: number;
  readonly url: string;
  /** Null for an invalid URL. */
  readonly host: string | null;
  readonly created_at: string;
  /** Of the run's last fact. */
  readonly updated_at: string;
  readonly webhook: Webhook | undefined;
}

/** With the port, unless it is the default of the scheme; null without a webhook. */
const webhookHost = (url: string | null): string | null =>
  url === null ? null : (URL.parse(url)?.host ?? null);

/** The state of a run's notifications, in the words of the run API. */
export const WEBHOOK_STATUSES: readonly WebhookStatus[] = WebhookStatus.enum;

/** Null for a run without a webhook. */
export const webhookStatus = (run: Run, webhook: Webhook | undefined): WebhookStatus | null =>
  run.request.webhook === null ? null : statusOf(webhook);

export const statusOf = (webhook: Webhook | undefined): WebhookStatus => webhook?.status ?? 'not-started';

/** The members with the blobs whose bytes count. */
export const BLOB_FIELDS = ['inputs_blob', 'outputs_blob', 'log_blob'] as const satisfies Column[];
export type BlobField = (typeof BLOB_FIELDS)[number];

/** The member with the size of a blob. */
export const bytesField = (field: BlobField): `${BlobField}_bytes` => `${field}_bytes`;

export const LIVE_FIELDS = [
  'live_workflow_sha256',
  'live_workflow_version_id',
  'live_deployment_id',
  'live_machine_id',
] as const satisfies Column[];
export type LiveField = (typeof LIVE_FIELDS)[number];

/** The members that refer to the blobs of a store. */
export const REFERRING: Readonly<Record<BlobStream, readonly (BlobField | LiveField)[]>> = {
  BLOBS: BLOB_FIELDS,
  WORKFLOWS: ['live_workflow_sha256'],
};

/** A record that runs which have not ended were queued with. */
export interface UsedRecord {
  readonly kind: 'workflow_version' | 'deployment' | 'machine';
  readonly id: string;
}

export const liveFieldOf = ({ kind }: UsedRecord): LiveField => `live_${kind}_id`;
