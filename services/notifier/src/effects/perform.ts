import { keyedMutex } from '@runledger/resilience/keyed-mutex';
import { breakerKey, receiverKey } from '../core/receiver.ts';
import type { Effect } from '../core/inputs-and-effects.ts';
import { removeTimer, storePosition } from '../timers.ts';
import { attemptFinal, attemptIntermediate } from './attempt.ts';
import { concludeAttempt } from './conclude-attempt.ts';
import { defer, forgetOpening, keepOpening, loadDeferred } from './deferred-deliveries.ts';
import { atLog, type EffectContext, type EffectOf } from './effect-context.ts';

/** Does what the core decided, and gives it the outcome. */
export const effectsRunner = (
  options: Omit<EffectContext, 'facts' | 'inTurn'>,
): ((effect: Effect) => void) => {
  const context: EffectContext = { ...options, facts: new Map(), inTurn: keyedMutex() };
  return (effect) => perform(context, effect);
};

const perform = (context: EffectContext, effect: Effect): void => {
  const { log, inTurn, onIdle } = context;
  switch (effect.type) {
    case 'attempt_final':
      return void attemptFinal(context, effect);
    case 'attempt_intermediate':
      return void attemptIntermediate(context, effect);
    case 'conclude_attempt':
      return void concludeAttempt(context, effect);
    case 'defer_delivery':
      return void defer(context, effect);
    case 'load_deferred':
      return void inTurn(receiverKey(effect.receiver), () => loadDeferred(context, effect));
    case 'store_opening':
      return inBackground(context, effect, 'the state of an open breaker could not be stored', (signal) =>
        inTurn(breakerKey(effect.opening), () => keepOpening(context, effect.opening, signal)),
      );
    case 'remove_opening':
      return inBackground(context, effect, 'the state of a breaker could not be removed', (signal) =>
        inTurn(receiverKey(effect.receiver), () => forgetOpening(context, effect, signal)),
      );
    case 'remove_timer':
      return inBackground(context, effect, 'a timer could not be removed', (signal) =>
        atLog(context, signal)(() => removeTimer(log, effect.sequence)),
      );
    case 'store_position':
      return void keepPosition(context, effect);
    case 'partition_idle':
      return onIdle(effect.partition);
  }
};

const keepPosition = async (
  { log, handle }: EffectContext,
  { partition, position }: EffectOf<'store_position'>,
): Promise<void> => {
  try {
    await storePosition(log, partition, position);
    handle({ type: 'position_stored', partition, position });
  } catch (error) {
    log.logger.debug({ err: error, partition }, 'a position could not be stored yet');
    handle({ type: 'position_stored', partition, position: null });
  }
};

const inBackground = (
  { log, signalOf }: EffectContext,
  { partition, type }: { readonly partition: number; readonly type: string },
  failure: string,
  work: (signal: AbortSignal) => Promise<void>,
): void => {
  const signal = signalOf(partition);
  work(signal).catch((error: unknown) => {
    if (!signal.aborted) log.logger.error({ err: error, partition, effect: type }, failure);
  });
};
