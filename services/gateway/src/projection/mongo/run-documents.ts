import type { Run } from '@runledger/contracts/fold/run';
import { orgId, runId } from '@runledger/contracts/ids';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { AnyBulkWriteOperation } from 'mongodb';
import type { RunView } from '../core/run-view.ts';
import { sortKeyOf } from '../core/sort-key.ts';
import { webhookHost, type WebhookRow } from '../core/webhook-row.ts';
import { webhookStatus } from '../core/webhook-status.ts';

/**
 * The folds are stored as JSON text: inputs and outputs may have names and values that BSON changes or refuses (`$ref`,
 * `_bsontype`, NUL, names that are numbers). What lists filter and sort by is stored beside them.
 */
export interface RunDocument {
  readonly _id: string;
  readonly org_id: string;
  readonly sort_key: string;
  readonly head: number;
  readonly number: number;
  readonly status: string;
  readonly deployment_id: string;
  readonly workflow_id: string;
  readonly gpu: string;
  readonly origin: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly run: string;
  readonly webhook_head: number;
  /** The fold of the webhook facts; null before the first. */
  readonly webhook: string | null;
  /** The last three are null for a run without a webhook. */
  readonly webhook_status: string | null;
  readonly webhook_host: string | null;
  readonly webhook_url: string | null;
}

/**
 * Replaces a document unless one of its heads is later. When one is, MongoDB tries to insert a second document with the
 * same id, and refuses it.
 */
export const guardedWrite = (view: RunView): AnyBulkWriteOperation<RunDocument> => {
  const { _id: id, ...replacement } = documentOf(view);
  const { org_id, head, webhook_head } = replacement;
  const filter = { _id: id, org_id, head: { $lte: head }, webhook_head: { $lte: webhook_head } };
  return { replaceOne: { filter, replacement, upsert: true } };
};

export const documentOf = ({ head, run, webhook }: RunView): RunDocument => ({
  _id: run.run_id,
  org_id: run.org_id,
  sort_key: sortKeyOf(run),
  head,
  number: run.number,
  status: run.status,
  deployment_id: run.request.deployment_id,
  workflow_id: run.request.workflow_id,
  gpu: run.request.gpu,
  origin: run.request.origin,
  created_at: new Date(run.created_at),
  updated_at: new Date(run.updated_at),
  run: JSON.stringify(run),
  webhook_head: webhook.head,
  webhook: webhook.state === undefined ? null : JSON.stringify(webhook.state),
  webhook_status: webhookStatus(run, webhook.state),
  webhook_host: webhookHost(run.request.webhook),
  webhook_url: run.request.webhook,
});

/** Only `documentOf` writes documents, so their text needs no check. */
export const viewOf = ({ head, run, webhook_head, webhook }: RunDocument): RunView => ({
  head,
  run: JSON.parse(run) as Run,
  webhook: { head: webhook_head, state: webhookOf(webhook) },
});

/** Only what `rowOf` and the order of a list need: the run itself may be large. */
export const ROW_FIELDS = {
  org_id: 1,
  sort_key: 1,
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
  host: document.webhook_host,
  created_at: document.created_at.toISOString(),
  updated_at: document.updated_at.toISOString(),
  webhook: webhookOf(document.webhook),
});

const webhookOf = (text: string | null): Webhook | undefined =>
  text === null ? undefined : (JSON.parse(text) as Webhook);
