import {
  withoutQuery,
  type DeliveryState,
  type DeliveryAttempt,
} from '@runledger/contracts/deliveries/delivery-attempts';
import type {
  DeliveryAttempt as ShownTry,
  ListedDelivery,
  RunDeliveries,
} from '@runledger/contracts/http/webhooks';
import type { Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf, type Webhook } from '@runledger/contracts/fold/webhook';
import type { ShowCallback } from './show-callback.ts';
import { statusOf, webhookStatus } from '../../projection/core/webhook-status.ts';

/** The stored delivery attempts and the state of a delivery. */
export interface KeptAttempts {
  readonly attempts: readonly DeliveryAttempt[];
  readonly intermediate: DeliveryAttempt | undefined;
  readonly state: DeliveryState | undefined;
}

export const NO_ATTEMPTS: KeptAttempts = { attempts: [], intermediate: undefined, state: undefined };

export const deliveriesResponse = (
  run: Run,
  webhook: Webhook | undefined,
  { attempts: tries, intermediate, state }: KeptAttempts,
  show: ShowCallback,
): RunDeliveries => ({
  run_id: run.run_id,
  webhook: run.request.webhook === null ? null : show(withoutQuery(run.request.webhook)),
  webhook_status: webhookStatus(run, webhook),
  ...standing(webhook, state),
  tries: tries.map((made) => shownTry(made, show)),
  intermediate: intermediate ? shownTry(intermediate, show) : null,
});

/** A run with a webhook, in a list. */
export interface Listed {
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
    ...standing(webhook, stored),
    tries: waiting?.tries ?? (webhook && 'tries' in webhook ? webhook.tries : 0),
    last_reason: waiting?.last_reason ?? (webhook?.status === 'failed' ? webhook.last_reason : null),
    created_at: listed.created_at,
    updated_at: waiting?.at ?? webhook?.updated_at ?? listed.updated_at,
  };
};

type Standing = Pick<RunDeliveries, 'round' | 'state' | 'next_try_at' | 'given_up_reason' | 'message'>;

const standing = (webhook: Webhook | undefined, stored: DeliveryState | undefined): Standing => {
  const waiting = waitingOf(webhook, stored);
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

export const shownTry = (
  { version: _version, notification: _notification, url, ...shown }: DeliveryAttempt,
  show: ShowCallback,
): ShownTry => ({ ...shown, url: show(url) });
