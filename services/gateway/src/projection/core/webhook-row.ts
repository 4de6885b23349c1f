import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Webhook } from '@runledger/contracts/fold/webhook';

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
export const webhookHost = (url: string | null): string | null =>
  url === null ? null : (URL.parse(url)?.host ?? null);
