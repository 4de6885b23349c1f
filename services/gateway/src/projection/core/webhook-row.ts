import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { RunView } from './run-view.ts';

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

/** Undefined for a run without a webhook. */
export const webhookRow = ({ run, webhook }: RunView): WebhookRow | undefined => {
  const { org_id, run_id, number, created_at, updated_at, request } = run;
  if (request.webhook === null) return undefined;
  const url = request.webhook;
  return {
    org_id,
    run_id,
    number,
    url,
    host: webhookHost(url),
    created_at,
    updated_at,
    webhook: webhook.state,
  };
};

/** With the port, unless it is the default of the scheme; null without a webhook. */
export const webhookHost = (url: string | null): string | null =>
  url === null ? null : (URL.parse(url)?.host ?? null);
