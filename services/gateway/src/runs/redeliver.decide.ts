import { isEnded, type Run } from '@runledger/contracts/fold/run';
import { roundOf, isSettled, type Webhook } from '@runledger/contracts/fold/webhook';
import { MAX_ROUNDS, type WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import {
  withoutQuery,
  type DeliveryState,
  type DeliveryAttempt,
} from '@runledger/contracts/deliveries/delivery-attempts';
import type {
  DeliveryAttempt as Try,
  ListedDelivery,
  RunDeliveries,
} from '@runledger/contracts/http/webhooks';
import type { EnvelopeForRun } from '@runledger/contracts/events/event-envelope';
import type { ShowCallback } from './run-response.ts';
import { statusOf, webhookStatus } from '../views/stored-run.decide.ts';

export type RedeliverRefusal = 'no_webhook' | 'not_ended' | 'rounds_used_up';

type RedeliverDecision =
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
  envelope: EnvelopeForRun,
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

/** The stored delivery attempts and the state of a delivery. */
interface StoredAttempts {
  readonly attempts: readonly DeliveryAttempt[];
  readonly intermediate: DeliveryAttempt | undefined;
  readonly state: DeliveryState | undefined;
}

export const NO_ATTEMPTS: StoredAttempts = { attempts: [], intermediate: undefined, state: undefined };

export const deliveriesResponse = (
  run: Run,
  webhook: Webhook | undefined,
  { attempts: tries, intermediate, state }: StoredAttempts,
  show: ShowCallback,
): RunDeliveries => ({
  run_id: run.run_id,
  webhook: run.request.webhook === null ? null : show(withoutQuery(run.request.webhook)),
  webhook_status: webhookStatus(run, webhook),
  ...stateOf(webhook, waitingOf(webhook, state)),
  tries: tries.map((made) => tryResponse(made, show)),
  intermediate: intermediate ? tryResponse(intermediate, show) : null,
});

/** A run with a webhook, in a list. */
interface Listed {
  readonly run_id: string;
  readonly url: string;
  readonly host: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly webhook: Webhook | undefined;
}

export const listedDelivery = (
  listed: Listed,
  stored: DeliveryState | undefined,
  show: ShowCallback,
): ListedDelivery => {
  const { webhook } = listed;
  const waiting = waitingOf(webhook, stored);
  return {
    run_id: listed.run_id,
    url: show(withoutQuery(listed.url)),
    host: listed.host,
    webhook_status: statusOf(webhook),
    ...stateOf(webhook, waiting),
    tries: waiting?.tries ?? (webhook && 'tries' in webhook ? webhook.tries : 0),
    last_reason: waiting?.last_reason ?? (webhook?.status === 'failed' ? webhook.last_reason : null),
    created_at: listed.created_at,
    updated_at: waiting?.at ?? webhook?.updated_at ?? listed.updated_at,
  };
};

/** `waiting`: the stored state, if it counts. */
const stateOf = (webhook: Webhook | undefined, waiting: DeliveryState | undefined) => {
  const failed = webhook?.status === 'failed' ? webhook : undefined;
  return {
    round: roundOf(webhook),
    state: waiting?.state ?? null,
    next_try_at: waiting?.next_try_at ?? null,
    given_up_reason: failed?.reason ?? null,
    message: waiting?.message ?? failed?.message ?? null,
  };
};

/** The stored state of a delivery counts until a fact settles it, or another round begins. */
const waitingOf = (
  webhook: Webhook | undefined,
  stored: DeliveryState | undefined,
): DeliveryState | undefined =>
  stored && stored.round === roundOf(webhook) && !isSettled(webhook) ? stored : undefined;

export const tryResponse = (
  { version: _version, notification: _notification, url, ...made }: DeliveryAttempt,
  show: ShowCallback,
): Try => ({ ...made, url: show(url) });
