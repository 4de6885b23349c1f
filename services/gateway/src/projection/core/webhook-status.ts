import { WebhookStatus } from '@runledger/contracts/http/runs/run-status';
import type { Run } from '@runledger/contracts/fold/run';
import type { Webhook } from '@runledger/contracts/fold/webhook';

/** The state of a run's notifications, in the words of the run API. */
export const WEBHOOK_STATUSES: readonly WebhookStatus[] = WebhookStatus.enum;

/** Null for a run without a webhook. */
export const webhookStatus = (run: Run, webhook: Webhook | undefined): WebhookStatus | null =>
  run.request.webhook === null ? null : statusOf(webhook);

export const statusOf = (webhook: Webhook | undefined): WebhookStatus => webhook?.status ?? 'not-started';
