import type { DeliveryAttemptResult } from '@runledger/contracts/deliveries/attempt-result';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import type { EndedRun } from '@runledger/contracts/fold/run';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { scheduleDelivery } from '../timers/timers.ts';
import { delayAfter, delayAfterOwnFailure, parseRetryAfter } from '../core/retry-schedule.ts';
import { verdictOf } from '../core/verdict.ts';
import type { SendResult } from '../sending/sender.ts';
import { pendingOf, type AfterTry, type FinalDelivery } from '../delivering/final-delivery.ts';
import type { DeliveryContext } from './delivery-context.ts';
import type { WebhookFacts } from './webhook-facts.ts';

export interface TriedDelivery {
  readonly delivery: FinalDelivery;
  readonly run: EndedRun;
  readonly facts: WebhookFacts;
  /** Before this one. */
  readonly tries: number;
  readonly webhook_id: string;
}

/** Writes down what follows from an answer. @throws the signal's reason */
export const followAnswer = async (
  parts: DeliveryContext,
  { delivery, run, facts, tries, webhook_id }: TriedDelivery,
  answered: SendResult,
  signal: AbortSignal,
): Promise<AfterTry> => {
  const { metrics, now } = parts;
  const { reason, status, message } = answered;
  const settled: AfterTry = { sent: reason, end: 'settled' };
  const made = tries + 1;
  const last = { last_reason: reason, status, message: message.slice(0, MAX_ERROR_MESSAGE) };
  switch (verdictOf(reason)) {
    case 'interrupted':
      return { sent: reason, end: 'interrupted' };
    case 'accepted':
      await facts.delivered({ webhook_id, tries: made, status });
      metrics.settled('delivered');
      metrics.accepted((now().getTime() - Date.parse(run.ended_at)) / 1_000);
      return settled;
    case 'gone':
      await facts.givenUp({ webhook_id, tries: made, reason: 'gone', ...last });
      metrics.settled('gone');
      return settled;
    case 'own': {
      const at = new Date(now().getTime() + delayAfterOwnFailure(parts.random()));
      await wait(parts, { ...delivery, round: facts.round, tries }, at, answered, signal);
      return settled;
    }
    case 'failed': {
      const retryAfter = parseRetryAfter(answered.retry_after, now().getTime(), Date.parse);
      const delay = delayAfter(made, retryAfter, parts.random());
      if (delay === undefined) {
        await facts.givenUp({ webhook_id, tries: made, reason: 'tries_used_up', ...last });
        metrics.settled('tries_used_up');
        return settled;
      }
      await facts.started('final');
      // Not beyond its end: somebody is to see it given up while the run is still there.
      const at = new Date(Math.min(now().getTime() + delay, Date.parse(delivery.expires_at)));
      await wait(parts, { ...delivery, round: facts.round, tries: made }, at, answered, signal);
      return settled;
    }
  }
};

const wait = async (
  parts: DeliveryContext,
  delivery: FinalDelivery,
  at: Date,
  { reason, message }: { readonly reason: DeliveryAttemptResult; readonly message: string },
  signal: AbortSignal,
): Promise<void> => {
  const { log, logger, now } = parts;
  await retryWhileUnavailable({ signal, logger }, () => scheduleDelivery(log, pendingOf(delivery, at), at));
  const { round, tries, key } = delivery;
  const next_try_at = at.toISOString();
  const state = { version: 1, round, state: 'retrying', tries, next_try_at, last_reason: reason } as const;
  recordDeliveryState(log, key, {
    ...state,
    message: message.slice(0, MAX_ERROR_MESSAGE),
    at: now().toISOString(),
  }).catch((error: unknown) =>
    logger.warn({ err: error, run_id: key.run_id }, 'where a delivery stands could not be kept'),
  );
};

/** Something of our own went wrong: the delivery waits a while, and no try is used up. */
export const postpone = async (
  parts: DeliveryContext,
  delivery: FinalDelivery,
  error: unknown,
  signal: AbortSignal,
  delay = delayAfterOwnFailure(parts.random()),
): Promise<AfterTry> => {
  const { run_id } = delivery.key;
  parts.logger.error({ err: error, run_id }, 'a notification could not be made; it is tried again');
  parts.metrics.tried('final', 'internal_error');
  const message = `The notifier could not make the notification: ${error instanceof Error ? error.message : String(error)}`;
  try {
    const at = new Date(parts.now().getTime() + delay);
    await wait(parts, delivery, at, { reason: 'internal_error', message }, signal);
    return { sent: 'internal_error', end: 'settled' };
  } catch (again) {
    if (!signal.aborted) parts.logger.error({ err: again, run_id }, 'a notification could not be put off');
    return { sent: 'interrupted', end: 'interrupted' };
  }
};
