import type { Run } from '@runledger/contracts/run';
import type { Webhook } from '@runledger/contracts/webhook';

export const WEBHOOK_STATUSES = ['not-started', 'running', 'success', 'failed'] as const;

/** What became of a run's notifications, in the words of the run API. */
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Null for a run without a webhook. */
export const webhookStatus = (run: Run, webhook: Webhook | undefined): WebhookStatus | null =>
  run.request.webhook === null ? null : statusOf(webhook);

export const statusOf = (webhook: Webhook | undefined): WebhookStatus => webhook?.status ?? 'not-started';
