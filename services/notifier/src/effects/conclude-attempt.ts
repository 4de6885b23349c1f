import { errorMessage } from '@runledger/contracts/events/run-error';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import type { DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import type { Retry } from '../core/conclusion.ts';
import { isInTimers, type FinalDelivery } from '../core/delivery.ts';
import type { Outcome } from '../core/inputs-and-effects.ts';
import { scheduleDelivery, pendingOf } from '../timers.ts';
import { finalWebhookId } from './attempt.ts';
import { atLog, guarded, type EffectContext, type EffectOf, type WebhookFacts } from './effect-context.ts';

/** Stores what follows from an attempt. */
export const concludeAttempt = async (
  context: EffectContext,
  effect: EffectOf<'conclude_attempt'>,
): Promise<void> => {
  const { attempt, delivery, conclusion } = effect;
  const facts = context.facts.get(attempt);
  const signal = context.signalOf(delivery.partition);
  const failure = 'the outcome of an attempt could not be stored';
  const work = { signal, key: delivery.key, notification: 'final', failure } as const;
  const outcome = await guarded(context, work, async () => {
    if (conclusion.kind === 'retry') return retry(context, delivery, conclusion, facts, signal);
    await settle(context, delivery, conclusion, facts);
    return STORED;
  });
  context.handle({ type: 'attempt_concluded', attempt, outcome });
};

const settle = async (
  { metrics }: EffectContext,
  { key }: FinalDelivery,
  conclusion: Exclude<EffectOf<'conclude_attempt'>['conclusion'], Retry>,
  facts: WebhookFacts | undefined,
): Promise<void> => {
  if (!facts) throw new Error('a run that was not read cannot be settled');
  const webhook_id = finalWebhookId(key.run_id);
  if (conclusion.kind === 'delivered') {
    const { attempts: tries, status, lagMs } = conclusion;
    await facts.append('WebhookDelivered', { webhook_id, tries, status });
    metrics.settled('delivered');
    metrics.accepted(lagMs / 1_000);
  } else {
    const { fact } = conclusion;
    const message = errorMessage(fact.message);
    await facts.append('WebhookGivenUp', { webhook_id, ...fact, message });
    metrics.settled(fact.reason);
  }
};

const retry = async (
  context: EffectContext,
  delivery: FinalDelivery,
  { at, progress, reason, message, started }: Retry,
  facts: WebhookFacts | undefined,
  signal: AbortSignal,
): Promise<Outcome> => {
  if (started) await facts?.append('WebhookStarted', { notification: 'final' });
  const waiting = { ...delivery, ...progress };
  if (!(await fits(context, delivery, signal)))
    return { kind: 'no_room', retry: { at, attempts: waiting.attempts } };
  await atLog(context, signal)(() => scheduleDelivery(context.log, pendingOf(waiting, at), new Date(at)));
  void recordState(context, delivery.key, {
    state: 'retrying',
    round: waiting.round,
    tries: waiting.attempts,
    next_try_at: new Date(at).toISOString(),
    last_reason: reason,
    message: errorMessage(message),
  });
  return STORED;
};

const STORED: Outcome = { kind: 'stored' };

/** Whether TIMERS has room for the delivery. One that is there already is only replaced. */
export const fits = async (
  context: EffectContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<boolean> => {
  const { org_id } = delivery.key;
  if (isInTimers(delivery) || (await atLog(context, signal)(() => context.capacity.reserveFor(org_id))))
    return true;
  // Awaited: nothing else slows down ten thousand of them, and the broker must stay free for what counts.
  await recordState(context, delivery.key, {
    state: 'deferred',
    round: delivery.round,
    tries: delivery.attempts,
    next_try_at: null,
    last_reason: null,
    message:
      'The organisation has too many waiting deliveries. This one is sent when its receiver accepts notifications again.',
  });
  return false;
};

/** No work depends on its success. Never rejects. */
export const recordState = (
  { log, now }: EffectContext,
  key: RunKey,
  state: Omit<DeliveryState, 'version' | 'at'>,
): Promise<void> =>
  recordDeliveryState(log, key, { version: 1, ...state, at: now().toISOString() }).catch((error: unknown) =>
    log.logger.warn({ err: error, run_id: key.run_id }, 'the state of a delivery could not be recorded'),
  );
