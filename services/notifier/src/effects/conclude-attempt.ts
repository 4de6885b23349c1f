import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import type { DeliveryState } from '@runledger/contracts/deliveries/deliveries';
import type { Conclusion, Retry } from '../core/delivery/conclusion.ts';
import type { FinalDelivery } from '../core/delivery/final-delivery.ts';
import type { Outcome } from '../core/state/input.ts';
import { scheduleDelivery } from '../timers/write-timers.ts';
import { finalWebhookId } from './attempt-final.ts';
import { atLog, messageOf, type DeliveryContext } from './delivery-context.ts';
import { pendingOf } from './pending-deliveries.ts';
import type { WebhookFacts } from './webhook-facts.ts';

/** What was decided after an attempt. */
export interface Concluding {
  readonly delivery: FinalDelivery;
  readonly conclusion: Conclusion;
  readonly facts: WebhookFacts | undefined;
}

/** Writes down what follows from an attempt. Never rejects. */
export const concludeAttempt = async (
  context: DeliveryContext,
  concluding: Concluding,
  signal: AbortSignal,
): Promise<Outcome> => {
  try {
    await write(context, concluding, signal);
    return { kind: 'stored' };
  } catch (error) {
    if (signal.aborted) return { kind: 'interrupted' };
    const { run_id } = concluding.delivery.key;
    context.logger.error({ err: error, run_id }, 'what follows from an attempt could not be stored');
    context.metrics.attempted('final', 'internal_error');
    return { kind: 'failed', why: messageOf(error) };
  }
};

const write = async (
  context: DeliveryContext,
  { delivery, conclusion, facts }: Concluding,
  signal: AbortSignal,
): Promise<void> => {
  const { metrics } = context;
  const webhook_id = finalWebhookId(delivery.key.run_id);
  if (conclusion.kind === 'retry') return retry(context, { delivery, facts }, conclusion, signal);
  if (!facts) throw new Error('a run that was not read cannot be settled');
  switch (conclusion.kind) {
    case 'delivered': {
      const { attempts: tries, status, lagMs } = conclusion;
      await facts.delivered({ webhook_id, tries, status });
      metrics.settled('delivered');
      metrics.accepted(lagMs / 1_000);
      return;
    }
    case 'given_up': {
      const { reason, message } = conclusion.fact;
      const fact = { ...conclusion.fact, message: message.slice(0, MAX_ERROR_MESSAGE) };
      await facts.givenUp({ webhook_id, ...fact });
      metrics.settled(reason);
    }
  }
};

const retry = async (
  context: DeliveryContext,
  { delivery, facts }: Pick<Concluding, 'delivery' | 'facts'>,
  { at, progress, reason, message, started }: Retry,
  signal: AbortSignal,
): Promise<void> => {
  const { log } = context;
  if (started) await facts?.started('final');
  const waiting = { ...delivery, ...progress };
  await atLog(context, signal)(() => scheduleDelivery(log, pendingOf(waiting, at), new Date(at)));
  recordState(context, delivery.key, {
    state: 'retrying',
    round: waiting.round,
    tries: waiting.attempts,
    next_try_at: new Date(at).toISOString(),
    last_reason: reason,
    message: message.slice(0, MAX_ERROR_MESSAGE),
  });
};

/** In the background: nobody waits for what is only to be read. */
export const recordState = (
  { log, logger, now }: DeliveryContext,
  key: RunKey,
  state: Omit<DeliveryState, 'version' | 'at'>,
): void => {
  recordDeliveryState(log, key, { version: 1, ...state, at: now().toISOString() }).catch((error: unknown) =>
    logger.warn({ err: error, run_id: key.run_id }, 'the state of a delivery could not be recorded'),
  );
};
