import type { Condition, Filter } from 'mongodb';
import type { RunDocument } from './run-documents.ts';
import type { SortKeyRange, ListRange } from '../core/sort-key.ts';
import { OPEN_STATUSES, type RunQuery, type WebhookQuery } from '../run-views.ts';

export const NEWEST_FIRST = { place: -1 } as const;

/** What a list can be asked for by: each has an index of its own, in the order of the list. */
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

interface AskedField {
  readonly field: FilterField;
  readonly fits: Condition<string>;
}

/** A list of one organisation, as the documents are asked for it. */
export interface ListQuery {
  readonly org_id: string;
  /** Every one of them fits. That which as a rule fits the fewest comes first: the list is read in the order of its index. */
  readonly fields: readonly AskedField[];
  readonly span: ListRange;
}

/**
 * The order: statuses that every run leaves, deployment, workflow, an origin other than the usual one, statuses without that
 * which most runs end with, GPU, the usual origin, the usual status.
 */
export const runListQuery = (query: RunQuery): ListQuery => {
  const { org_id, statuses, deploymentId, workflowId, gpu, origin, ...span } = query;
  const ofStatus = statuses === undefined ? [] : [asked('status', anyOf(statuses))];
  const ofOrigin = origin === undefined ? [] : [asked('origin', origin)];
  const isOpen = statuses?.every((status) => OPEN_STATUSES.includes(status)) ?? false;
  const isUsual = statuses?.includes('success') ?? false;
  const isUsualOrigin = origin === 'api';
  return {
    org_id,
    fields: [
      ...(isOpen ? ofStatus : []),
      ...(deploymentId === undefined ? [] : [asked('deployment_id', deploymentId)]),
      ...(workflowId === undefined ? [] : [asked('workflow_id', workflowId)]),
      ...(isUsualOrigin ? [] : ofOrigin),
      ...(isOpen || isUsual ? [] : ofStatus),
      ...(gpu === undefined ? [] : [asked('gpu', gpu)]),
      ...(isUsualOrigin ? ofOrigin : []),
      ...(isUsual ? ofStatus : []),
    ],
    span,
  };
};

export const webhookListQuery = ({ org_id, statuses, host, ...span }: WebhookQuery): ListQuery => ({
  org_id,
  fields: [
    ...(host === undefined ? [] : [asked('webhook_host', host)]),
    asked('webhook_status', anyOf(statuses)),
  ],
  span,
});

/** The documents of a part of the list; never those without a place, so that it always is one range of an index. */
export const filterOf = (
  { org_id, fields }: Pick<ListQuery, 'org_id' | 'fields'>,
  { from, before }: SortKeyRange,
): Filter<RunDocument> => ({
  org_id,
  ...Object.fromEntries(fields.map(({ field, fits }) => [field, fits])),
  place: { $gte: from, ...(before === undefined ? {} : { $lt: before }) },
});

const asked = (field: FilterField, fits: Condition<string>): AskedField => ({ field, fits });

/** Of one value it is an equality, for which every server uses its index. */
const anyOf = (values: readonly string[]): Condition<string> => {
  const [only, ...others] = values;
  return only !== undefined && others.length === 0 ? only : { $in: [...values] };
};
