import { isEnded, type Run } from '@runledger/contracts/fold/run';
import { roundOf, type Webhook } from '@runledger/contracts/fold/webhook';
import { MAX_ROUNDS, type WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import type { Envelope } from '../../runs/current/core/envelope.ts';

export type RedeliverRefusal = 'no_webhook' | 'not_ended' | 'rounds_used_up';

export type RedeliverDecision =
  | { readonly kind: 'append'; readonly event: WebhookEventOf<'WebhookRedeliveryRequested'> }
  | { readonly kind: 'refused'; readonly because: RedeliverRefusal };

/**
 * Delivers the final notification once more, beginning with the first attempt. A delivery that is retrying or deferred
 * ends with the new round.
 */
export const redeliver = (
  run: Run,
  webhook: Webhook | undefined,
  { user_id }: { readonly user_id: string },
  envelope: Omit<Envelope, 'correlation_id'>,
): RedeliverDecision => {
  if (run.request.webhook === null) return { kind: 'refused', because: 'no_webhook' };
  if (!isEnded(run)) return { kind: 'refused', because: 'not_ended' };
  const round = roundOf(webhook) + 1;
  if (round > MAX_ROUNDS) return { kind: 'refused', because: 'rounds_used_up' };
  return {
    kind: 'append',
    event: {
      ...envelope,
      type: 'WebhookRedeliveryRequested',
      version: 1,
      correlation_id: run.correlation_id,
      causation_id: null,
      round,
      data: { user_id },
    },
  };
};
