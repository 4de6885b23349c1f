import { allRead } from '@runledger/contracts/all-read';
import type { RunSource } from '@runledger/contracts/events/run-event-data';
import type { Run } from '@runledger/contracts/fold/run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import type { WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import { OPEN_STATUSES, type RunView } from './run-view.ts';
import type { RunSearch, Sought } from './run-search.decide.ts';
import type { CreatedRange, ListRange, SortKey } from './sort-key.decide.ts';
import {
  scheduleTag,
  ROW_FIELDS,
  rowOf,
  VIEW_FIELDS,
  viewOf,
  type StoredRun,
  type WebhookRow,
} from './stored-run.decide.ts';

/** The filters of a list of runs: the runs of one organisation that match all of them. */
export interface CountQuery extends CreatedRange {
  readonly org_id: OrgId;
  readonly statuses?: readonly Run['status'][];
  readonly deploymentId?: string;
  readonly workflowId?: string;
  /** Of the schedule that queued them. */
  readonly scheduleId?: string;
  readonly gpu?: GpuModel;
  readonly origin?: RunSource;
  /** The runs have all of them. */
  readonly tags?: readonly string[];
  readonly search?: RunSearch;
}

/** Which runs are listed, newest first. */
export interface RunQuery extends CountQuery {
  /** Where the page begins. */
  readonly behind?: SortKey;
  /** At least 1. */
  readonly limit: number;
}

/** In which intervals what the runs of one organisation did is counted. */
export interface ActivityQuery {
  readonly org_id: OrgId;
  readonly from: Date;
  /** Not in any interval; a whole number of steps after `from`. */
  readonly to: Date;
  readonly stepMs: number;
}

/** Which runs of one organisation with a webhook are listed, newest first. */
export interface WebhookQuery extends ListRange {
  readonly org_id: OrgId;
  readonly statuses: readonly WebhookStatus[];
  /** Of the callback, as `URL.host` gives it. */
  readonly host?: string;
  /** At least 1. */
  readonly limit: number;
}

/** Runs of all organisations that have ended, and whose final notification is not settled. */
export interface UnsettledQuery {
  readonly createdBefore: Date;
  /** Only runs that follow this one, which are younger. */
  readonly after?: SortKey | undefined;
  /** At least 1. */
  readonly limit: number;
}

/** Runs with one of these statuses, of one organisation or of all. */
export interface OldestQuery extends UnsettledQuery {
  readonly org_id?: OrgId;
  readonly statuses: readonly Run['status'][];
}

/** Runs of one organisation that have output files and have ended. */
export interface FilesQuery {
  readonly org_id: OrgId;
  readonly endedBefore: Date;
  /** At least 1. */
  readonly limit: number;
}

/** Views with files to erase, of all organisations. */
export interface ByIdQuery {
  /** Only runs with a later id. */
  readonly after: string;
  /** At least 1. */
  readonly limit: number;
}

/** What lists filter by. Each has an index in the order of the list. */
export const FILTERS = [
  'status',
  'deployment_id',
  'workflow_id',
  'gpu',
  'origin',
  'tags',
  'webhook_status',
  'webhook_host',
] as const satisfies (keyof StoredRun)[];
export type FilterField = (typeof FILTERS)[number];

/** The field is one of these values, or a list with one of them. */
export type FieldCondition =
  | { readonly field: FilterField; readonly values: readonly string[] }
  /** Of all organisations. */
  | { readonly field: 'unsettled'; readonly values: readonly [1] };

/** A list of one organisation, in terms of what is stored. */
export interface ListQuery {
  readonly org_id: string;
  /** All of them match. The first is the one that few runs match as a rule: the list is read by its index. */
  readonly conditions: readonly FieldCondition[];
  /** Matches too. Only ids have an index. */
  readonly sought?: Sought | undefined;
  readonly range: ListRange;
}

/**
 * `sought`: what its search became. The order of the conditions: statuses that every run leaves, schedule, tags, deployment, workflow, an origin other than the usual one,
 * statuses without the one that most runs end with, GPU, the usual origin, the usual status.
 */
export const runListQuery = (query: RunQuery, sought?: Sought): ListQuery => {
  const { org_id, statuses, deploymentId, workflowId, scheduleId, gpu, origin, tags = [], ...rest } = query;
  const { search: _search, createdAfter, createdBefore, behind, limit: _limit, ...unread } = rest;
  allRead(unread);
  const byStatus = statuses === undefined ? [] : [{ field: 'status', values: statuses } as const];
  const byOrigin = condition('origin', origin);
  const isOpen = statuses?.every((status) => OPEN_STATUSES.includes(status)) ?? false;
  const isUsual = statuses?.includes('success') ?? false;
  const isUsualOrigin = origin === 'api';
  return {
    org_id,
    conditions: [
      ...(isOpen ? byStatus : []),
      ...(scheduleId === undefined ? [] : condition('tags', scheduleTag(scheduleId))),
      ...tags.flatMap((tag) => condition('tags', tag)),
      ...condition('deployment_id', deploymentId),
      ...condition('workflow_id', workflowId),
      ...(isUsualOrigin ? [] : byOrigin),
      ...(isOpen || isUsual ? [] : byStatus),
      ...condition('gpu', gpu),
      ...(isUsualOrigin ? byOrigin : []),
      ...(isUsual ? byStatus : []),
    ],
    sought,
    range: {
      ...(createdAfter && { createdAfter }),
      ...(createdBefore && { createdBefore }),
      ...(behind !== undefined && { behind }),
    },
  };
};

export const webhookListQuery = ({ org_id, statuses, host, ...range }: WebhookQuery): ListQuery => ({
  org_id,
  conditions: [...condition('webhook_host', host), { field: 'webhook_status', values: statuses }],
  range,
});

const condition = (field: FilterField, value: string | undefined): FieldCondition[] =>
  value === undefined ? [] : [{ field, values: [value] }];

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins, however few items this one has; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

interface ListedItem<Item> {
  readonly item: Item;
  /** How much of the page's size it takes. */
  readonly bytes: number;
}

export interface Listed<Item> extends ListedItem<Item> {
  readonly sortKey: SortKey;
}

/** The search stopped here. More items may follow. */
interface SearchEnd {
  readonly searchedTo: SortKey;
}

/** What a search yields, in the order of the list. */
export type Found<Item> = Listed<Item> | SearchEnd;

/** Of the items of one page, unless it has one only. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/**
 * A page of what a search finds, in its order: at most `limit` items and 8 MiB of them, but always one. It reads one item
 * more, to know whether another page follows. It ends early, even empty, where the search does.
 */
export const pageOf = async <Item>(
  found: Iterable<Found<Item>> | AsyncIterable<Found<Item>>,
  limit: number,
): Promise<Page<Item>> => {
  const items: Item[] = [];
  let pageBytes = 0;
  let end: SortKey | undefined;
  for await (const next of found) {
    if ('searchedTo' in next) return { items, end: next.searchedTo };
    const { item, sortKey, bytes } = next;
    pageBytes += bytes;
    const isFull = items.length >= Math.max(limit, 1) || (items.length > 0 && pageBytes > MAX_PAGE_BYTES);
    if (isFull) return { items, end };
    items.push(item);
    end = sortKey;
  }
  return { items, end: undefined };
};

/** What a list shows of each stored run. */
export interface StoredList<Item> {
  /** What `toItem` needs. */
  readonly fields: readonly (keyof StoredRun)[];
  readonly toItem: (stored: StoredRun) => ListedItem<Item>;
}

export const RUN_LIST: StoredList<RunView> = {
  fields: VIEW_FIELDS,
  // No list has a deleted run.
  toItem: (stored) => ({ item: viewOf(stored) as RunView, bytes: Buffer.byteLength(stored.run) }),
};

export const WEBHOOK_LIST: StoredList<WebhookRow> = {
  fields: ROW_FIELDS,
  toItem: (stored) => ({ item: rowOf(stored), bytes: 0 }),
};
