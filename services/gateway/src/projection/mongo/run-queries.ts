import type { Condition, Filter } from 'mongodb';
import { OPEN_STATUSES } from '../core/run-view.ts';
import type { SortKeyRange, ListRange } from '../core/sort-key.ts';
import type { RunQuery, WebhookQuery } from '../run-views.ts';
import type { RunDocument } from './run-documents.ts';

export const NEWEST_FIRST = { sort_key: -1 } as const;

/** What lists filter by. Each has an index in the order of the list. */
export const FILTERS = [
  'status',
  'deployment_id',
  'workflow_id',
  'gpu',
  'origin',
  'webhook_status',
  'webhook_host',
] as const satisfies (keyof RunDocument)[];
type FilterField = (typeof FILTERS)[number];

export const indexOf = (field: FilterField): { readonly [name: string]: 1 | -1 } => ({
  org_id: 1,
  [field]: 1,
  ...NEWEST_FIRST,
});

interface FieldCondition {
  readonly field: FilterField;
  readonly matches: Condition<string>;
}

/** A list of one organisation, in terms of the documents. */
export interface ListQuery {
  readonly org_id: string;
  /** All of them match. The first is the one that few documents match as a rule: the list is read by its index. */
  readonly conditions: readonly FieldCondition[];
  readonly range: ListRange;
}

/**
 * The order of the conditions: statuses that every run leaves, deployment, workflow, an origin other than the usual one,
 * statuses without the one that most runs end with, GPU, the usual origin, the usual status.
 */
export const runListQuery = (query: RunQuery): ListQuery => {
  const { org_id, statuses, deploymentId, workflowId, gpu, origin, ...range } = query;
  const byStatus = statuses === undefined ? [] : [condition('status', anyOf(statuses))];
  const byOrigin = origin === undefined ? [] : [condition('origin', origin)];
  const isOpen = statuses?.every((status) => OPEN_STATUSES.includes(status)) ?? false;
  const isUsual = statuses?.includes('success') ?? false;
  const isUsualOrigin = origin === 'api';
  return {
    org_id,
    conditions: [
      ...(isOpen ? byStatus : []),
      ...(deploymentId === undefined ? [] : [condition('deployment_id', deploymentId)]),
      ...(workflowId === undefined ? [] : [condition('workflow_id', workflowId)]),
      ...(isUsualOrigin ? [] : byOrigin),
      ...(isOpen || isUsual ? [] : byStatus),
      ...(gpu === undefined ? [] : [condition('gpu', gpu)]),
      ...(isUsualOrigin ? byOrigin : []),
      ...(isUsual ? byStatus : []),
    ],
    range,
  };
};

export const webhookListQuery = ({ org_id, statuses, host, ...range }: WebhookQuery): ListQuery => ({
  org_id,
  conditions: [
    ...(host === undefined ? [] : [condition('webhook_host', host)]),
    condition('webhook_status', anyOf(statuses)),
  ],
  range,
});

/** The documents of a part of the list. It is one range of an index. */
export const filterOf = (
  { org_id, conditions }: Pick<ListQuery, 'org_id' | 'conditions'>,
  { from, before }: SortKeyRange,
): Filter<RunDocument> => ({
  org_id,
  ...Object.fromEntries(conditions.map(({ field, matches }) => [field, matches])),
  sort_key: { $gte: from, ...(before === undefined ? {} : { $lt: before }) },
});

const condition = (field: FilterField, matches: Condition<string>): FieldCondition => ({ field, matches });

/** One value becomes an equality, for which every server uses its index. */
const anyOf = (values: readonly string[]): Condition<string> => {
  const [only, ...others] = values;
  return only !== undefined && others.length === 0 ? only : { $in: [...values] };
};
