import { gpuOf, isDeleted, isEnded, type Run, type RunState } from '@runledger/contracts/fold/run';
import { isUnsettled, type Webhook } from '@runledger/contracts/fold/webhook';
import { orgId, runId } from '@runledger/contracts/ids';
import { parseJson } from '@runledger/contracts/json';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import { referencesOf, type RunReferences } from './run-references.decide.ts';
import { outputsToErase, type StoredView } from './run-view.ts';
import { searchTextOf } from './run-search.decide.ts';
import { sortKeyOf } from './sort-key.decide.ts';

/* oxlint-disable no-restricted-globals -- it parses times; it does not read the clock */

/** The broker's times of what every run does once, in milliseconds since 1970; null for what has not come. */
interface RunMoments {
  readonly created_ms: number | null;
  /** When it began to execute, in the first attempt that did. */
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
}

const NO_MOMENTS: RunMoments = { created_ms: null, started_ms: null, ended_ms: null };

const momentsOf = (run: Run): RunMoments => {
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
 * A view as a database stores it. The folds are JSON text: inputs and outputs may have names and values that a database
 * changes or refuses (`$ref`, `_bsontype`, NUL, names that are numbers). What lists filter and sort by is beside them, and a
 * deleted run has none of it, so no list finds it.
 */
export interface StoredRun extends RunReferences, RunMoments {
  readonly run_id: string;
  readonly org_id: string;
  /** Null for a deleted run. */
  readonly sort_key: string | null;
  readonly head: number;
  readonly number: number;
  readonly status: string;
  readonly deployment_id: string | null;
  readonly workflow_id: string | null;
  readonly gpu: string | null;
  readonly origin: string | null;
  /** With one for its schedule; null without any. */
  readonly tags: readonly string[] | null;
  /** What a search looks at. */
  readonly search_text: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly output_bytes: number;
  /** 1 while it has ended and its final notification is not settled, otherwise 0. */
  readonly unsettled: number;
  /** 1 while files of deleted outputs have to be erased, otherwise 0. */
  readonly to_erase: number;
  readonly run: string;
  readonly webhook_head: number;
  /** The fold of the webhook facts; null before the first. */
  readonly webhook: string | null;
  /** The last three are null for a run without a webhook. */
  readonly webhook_status: string | null;
  readonly webhook_host: string | null;
  readonly webhook_url: string | null;
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

type Listed = RunMoments &
  Pick<
    StoredRun,
    | 'sort_key'
    | 'deployment_id'
    | 'workflow_id'
    | 'gpu'
    | 'origin'
    | 'tags'
    | 'search_text'
    | 'updated_at'
    | 'output_bytes'
    | 'unsettled'
    | 'webhook_status'
    | 'webhook_host'
    | 'webhook_url'
  >;

const listedBy = (run: Run, webhook: Webhook | undefined): Listed => ({
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

const NOT_LISTED: Omit<Listed, 'updated_at'> = {
  sort_key: null,
  ...NO_MOMENTS,
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
};

/** What `viewOf` needs. Views of every version have these four. */
export const VIEW_FIELDS = ['head', 'run', 'webhook_head', 'webhook'] as const satisfies (keyof StoredRun)[];

/** Only `storedRun` makes what is stored, so its text needs no check. */
export const viewOf = ({
  head,
  run,
  webhook_head,
  webhook,
}: Pick<StoredRun, (typeof VIEW_FIELDS)[number]>): StoredView => ({
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
] as const satisfies (keyof StoredRun)[];

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
