import { keyedMutex, type KeyedMutex } from '@runledger/resilience/keyed-mutex';
import { receiverKey, type Receiver } from '../core/receivers/receiver.ts';
import type { Effect } from '../core/state/effect.ts';
import type { NotifierInput } from '../core/state/input.ts';
import { removeTimer, storePosition } from '../timers/write-timers.ts';
import { attemptFinal } from './attempt-final.ts';
import { attemptIntermediate } from './attempt-intermediate.ts';
import { concludeAttempt } from './conclude-attempt.ts';
import { defer, forgetOpening, keepOpening, loadDeferred, type Loading } from './deferred-deliveries.ts';
import { atLog, type DeliveryContext } from './delivery-context.ts';
import type { WebhookFacts } from './webhook-facts.ts';

export interface EffectsOptions extends Loading {
  readonly context: DeliveryContext;
  /** Aborted when nothing more may be sent or written for the partition. */
  readonly signalOf: (partition: number) => AbortSignal;
  /** Nothing is under way any more in a partition that is closing. */
  readonly onIdle: (partition: number) => void;
}

interface Runner extends EffectsOptions {
  /** Of the attempts whose outcome is to be written down. */
  readonly facts: Map<number, WebhookFacts>;
  /** What is stored for one receiver is stored in order. */
  readonly inTurn: KeyedMutex;
}

/** Does what the core decided, and tells it the result. */
export const effectsRunner = (options: EffectsOptions): ((effect: Effect) => void) => {
  const runner: Runner = { ...options, facts: new Map(), inTurn: keyedMutex() };
  return (effect) => perform(runner, effect);
};

const perform = (runner: Runner, effect: Effect): void => {
  const { context, signalOf, inTurn, onIdle } = runner;
  switch (effect.type) {
    case 'attempt_final':
      return void makeFinalAttempt(runner, effect);
    case 'attempt_intermediate':
      return void makeIntermediateAttempt(runner, effect);
    case 'conclude_attempt':
      return void conclude(runner, effect);
    case 'defer_delivery':
      return void deferInTurn(runner, effect);
    case 'load_deferred': {
      const signal = signalOf(effect.partition);
      return void inTurn(receiverKey(effect.receiver), () => loadDeferred(context, effect, runner, signal));
    }
    case 'store_opening':
      return inBackground(runner, effect, 'an opening of a breaker could not be stored', (signal) =>
        inTurn(turnOf(effect.opening), () => keepOpening(context, effect, signal)),
      );
    case 'remove_opening':
      return inBackground(runner, effect, 'an opening of a breaker could not be removed', (signal) =>
        inTurn(receiverKey(effect.receiver), () => forgetOpening(context, effect, signal)),
      );
    case 'remove_timer':
      return inBackground(runner, effect, 'a timer could not be removed', (signal) =>
        atLog(context, signal)(() => removeTimer(context.log, effect.sequence)),
      );
    case 'store_position':
      return void keepPosition(runner, effect);
    case 'partition_idle':
      return onIdle(effect.partition);
  }
};

type EffectOf<Type> = Extract<Effect, { type: Type }>;

const makeFinalAttempt = async (
  { context, facts, signalOf, take }: Runner,
  { attempt, delivery }: EffectOf<'attempt_final'>,
): Promise<void> => {
  const made = await attemptFinal(context, delivery, signalOf(delivery.partition));
  // What is decided about the attempt is begun before `take` returns.
  if (made.facts) facts.set(attempt, made.facts);
  take({ type: 'attempt_finished', attempt, report: made.report });
  facts.delete(attempt);
};

const makeIntermediateAttempt = async (
  { context, signalOf, take }: Runner,
  effect: EffectOf<'attempt_intermediate'>,
): Promise<void> => {
  const report = await attemptIntermediate(context, effect, signalOf(effect.partition));
  take({ type: 'attempt_finished', attempt: effect.attempt, report });
};

const conclude = async (
  { context, facts, signalOf, take }: Runner,
  { attempt, delivery, conclusion }: EffectOf<'conclude_attempt'>,
): Promise<void> => {
  const concluding = { delivery, conclusion, facts: facts.get(attempt) };
  const outcome = await concludeAttempt(context, concluding, signalOf(delivery.partition));
  take({ type: 'attempt_concluded', attempt, outcome });
};

const deferInTurn = async (runner: Runner, effect: EffectOf<'defer_delivery'>): Promise<void> => {
  const { context, inTurn, signalOf, take } = runner;
  const { key, origin, partition } = effect.delivery;
  const turn = receiverKey({ org_id: key.org_id, origin });
  const outcome = await inTurn(turn, () => defer(context, effect, signalOf(partition)));
  take({ type: 'deferral_finished', run: key.run_id, outcome });
};

const keepPosition = async (
  { context, take }: Runner,
  { partition, position }: EffectOf<'store_position'>,
): Promise<void> => {
  const stored = (kept: typeof position | null): NotifierInput => ({
    type: 'position_stored',
    partition,
    position: kept,
  });
  try {
    await storePosition(context.log, partition, position);
    take(stored(position));
  } catch (error) {
    context.logger.debug({ err: error, partition }, 'a position could not be stored yet');
    take(stored(null));
  }
};

const inBackground = (
  { context, signalOf }: Runner,
  { partition, type }: { readonly partition: number; readonly type: string },
  failure: string,
  work: (signal: AbortSignal) => Promise<void>,
): void => {
  const signal = signalOf(partition);
  work(signal).catch((error: unknown) => {
    if (!signal.aborted) context.logger.error({ err: error, partition, effect: type }, failure);
  });
};

const turnOf = ({ org_id, origin }: { readonly org_id: string | null; readonly origin: string }): string =>
  org_id === null ? origin : receiverKey({ org_id, origin } satisfies Receiver);
