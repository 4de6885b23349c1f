import type { Run } from '@runledger/contracts/fold/run';
import { orgId, runId } from '@runledger/contracts/ids';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { EMPTY_WEBHOOK_HISTORY } from '@runledger/contracts/fold/webhook-chain';
import type { AnyBulkWriteOperation } from 'mongodb';
import { webhookStatus } from '../core/webhook-status.ts';
import { sortKeyOf, type SortKey } from '../core/sort-key.ts';
import type { RunView } from '../run-views.ts';
import { webhookHost, type WebhookRow } from '../core/webhook-row.ts';

/**
 * The folds stand as JSON text: inputs and outputs may have names and values that BSON changes or refuses (`$ref`,
 * `_bsontype`, NUL, names that are numbers). What is asked for in lists stands beside them.
 */
export interface RunDocument {
  readonly _id: string;
  readonly org_id: string;
  readonly head: number;
  readonly number: number;
  readonly status: string;
  readonly deployment_id: string;
  readonly workflow_id: string;
  readonly gpu: string;
  readonly origin: string;
  readonly created_at: Date;
  readonly run: string;
  /** Documents of the second release have none. */
  readonly place?: string;
  /** Documents of the first release have none of these. */
  readonly updated_at?: Date;
  readonly webhook_head?: number;
  /** The fold of the webhook facts; null before the first. */
  readonly webhook?: string | null;
  /** The last three are null for a run without a webhook. */
  readonly webhook_status?: string | null;
  readonly webhook_host?: string | null;
  readonly webhook_url?: string | null;
}

/** Takes the place of a document neither of whose heads is later; else it tries to insert a second one, and is refused. */
export const guardedWrite = (view: RunView): AnyBulkWriteOperation<RunDocument> => {
  const { _id: id, ...replacement } = documentOf(view);
  return {
    replaceOne: {
      filter: {
        _id: id,
        org_id: replacement.org_id,
        head: { $lte: view.head },
        // Also where there is none.
        webhook_head: { $not: { $gt: view.webhook.head } },
      },
      replacement,
      upsert: true,
    },
  };
};

export const documentOf = ({ head, run, webhook }: RunView): RunDocument => ({
  _id: run.run_id,
  org_id: run.org_id,
  head,
  number: run.number,
  status: run.status,
  deployment_id: run.request.deployment_id,
  workflow_id: run.request.workflow_id,
  gpu: run.request.gpu,
  origin: run.request.origin,
  created_at: new Date(run.created_at),
  place: sortKeyOf(run),
  run: JSON.stringify(run),
  updated_at: new Date(run.updated_at),
  webhook_head: webhook.head,
  webhook: webhook.webhook === undefined ? null : JSON.stringify(webhook.webhook),
  webhook_status: webhookStatus(run, webhook.webhook),
  webhook_host: webhookHost(run.request.webhook),
  webhook_url: run.request.webhook,
});

/** What stands in a document was written by `documentOf` only. */
export const viewOf = ({ head, run, webhook_head, webhook }: RunDocument): RunView => {
  const view = { run: JSON.parse(run) as Run };
  // Of a release that knew no webhook facts: what it says of them is not to be trusted, and neither is its head.
  if (webhook_head === undefined) return { ...view, head: 0, webhook: EMPTY_WEBHOOK_HISTORY };
  return { ...view, head, webhook: { head: webhook_head, webhook: webhookOf(webhook) } };
};

/** Only what `rowOf` reads: the run itself may be large. */
export const ROW_FIELDS = {
  org_id: 1,
  number: 1,
  created_at: 1,
  updated_at: 1,
  webhook: 1,
  webhook_host: 1,
  webhook_url: 1,
} as const satisfies Partial<Record<keyof RunDocument, 1>>;

export const rowOf = ({
  _id: id,
  ...document
}: Pick<RunDocument, '_id' | keyof typeof ROW_FIELDS>): WebhookRow => ({
  org_id: orgId(document.org_id),
  run_id: runId(id),
  number: document.number,
  url: document.webhook_url ?? '',
  host: document.webhook_host ?? null,
  created_at: document.created_at.toISOString(),
  updated_at: (document.updated_at ?? document.created_at).toISOString(),
  webhook: webhookOf(document.webhook),
});

const webhookOf = (text: string | null | undefined): Webhook | undefined =>
  text === null || text === undefined ? undefined : (JSON.parse(text) as Webhook);

/** The place of a run by what stands beside it. */
export const sortKeyOfDocument = ({
  _id: id,
  created_at,
  number,
}: Pick<RunDocument, '_id' | 'created_at' | 'number'>): SortKey =>
  sortKeyOf({ run_id: runId(id), created_at: created_at.toISOString(), number });
