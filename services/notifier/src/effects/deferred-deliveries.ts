import type { OpenBreaker } from '@runledger/contracts/deliveries/deliveries';
import type { FinalDelivery } from '../core/delivery/final-delivery.ts';
import type { Effect } from '../core/state/effect.ts';
import type { NotifierInput, Outcome, StoredOpening } from '../core/state/input.ts';
import { nextDeferred } from '../timers/read-timers.ts';
import { deferDelivery, removeOpening, removeTimer, storeOpening } from '../timers/write-timers.ts';
import { isSuperseded } from './attempt-final.ts';
import { recordState } from './conclude-attempt.ts';
import { atLog, messageOf, type DeliveryContext } from './delivery-context.ts';
import { deliveryIn, pendingOf } from './pending-deliveries.ts';

type EffectOf<Type> = Extract<Effect, { type: Type }>;

/** Stores a delivery until its receiver takes notifications again. Never rejects. */
export const defer = async (
  context: DeliveryContext,
  { delivery, reminder }: EffectOf<'defer_delivery'>,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log, logger } = context;
  try {
    if (reminder) await atLog(context, signal)(() => storeOpening(log, recordOf(reminder)));
    // What was loaded is still there.
    if (delivery.source.kind !== 'deferred') await store(context, delivery, signal);
    return { kind: 'stored' };
  } catch (error) {
    if (signal.aborted) return { kind: 'interrupted' };
    logger.error({ err: error, run_id: delivery.key.run_id }, 'a delivery could not be deferred');
    return { kind: 'failed', why: messageOf(error) };
  }
};

const store = async (
  context: DeliveryContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<void> => {
  const { log, now, metrics } = context;
  const { key, round, attempts: tries, careful } = delivery;
  if (careful && (await isSuperseded(context, delivery, signal))) return;
  await atLog(context, signal)(() => deferDelivery(log, pendingOf(delivery, now().getTime())));
  metrics.deferred();
  const message = 'Deferred until its receiver takes notifications again.';
  recordState(context, key, {
    state: 'deferred',
    round,
    tries,
    next_try_at: null,
    last_reason: null,
    message,
  });
};

/** What takes the deliveries that are found. */
export interface Loading {
  readonly take: (input: NotifierInput) => void;
  readonly isInHand: (delivery: FinalDelivery) => boolean;
}

/** Reads deferred deliveries of a receiver, up to so many that are not in hand. Never rejects. */
export const loadDeferred = async (
  context: DeliveryContext,
  { receiver, after, max }: EffectOf<'load_deferred'>,
  { take, isInHand }: Loading,
  signal: AbortSignal,
): Promise<void> => {
  const { log, logger } = context;
  const retrying = atLog(context, signal);
  let lastSequence = after;
  const finish = (end: 'more' | 'end' | 'nothing_found' | 'failed'): void =>
    take({ type: 'deferred_loaded', receiver, lastSequence, end });
  try {
    for (let found = 0; found < max;) {
      const next = await retrying(() => nextDeferred(log, receiver, lastSequence));
      if (!next) return finish(lastSequence > after ? 'end' : 'nothing_found');
      lastSequence = next.sequence;
      // It may be what is left behind of one that went on.
      const delivery = deliveryIn(next, 'deferred', true);
      if (isInHand(delivery)) continue;
      take({ type: 'deferred_found', delivery });
      found += 1;
    }
    finish('more');
  } catch (error) {
    const { origin } = receiver;
    if (!signal.aborted) logger.error({ err: error, origin }, 'deferred deliveries could not be read');
    finish('failed');
  }
};

export const keepOpening = (
  context: DeliveryContext,
  { opening }: EffectOf<'store_opening'>,
  signal: AbortSignal,
): Promise<void> => atLog(context, signal)(() => storeOpening(context.log, recordOf(opening)));

/** Nobody needs to be reminded of the receiver any more. */
export const forgetOpening = async (
  context: DeliveryContext,
  { receiver, due }: EffectOf<'remove_opening'>,
  signal: AbortSignal,
): Promise<void> => {
  const { log } = context;
  const retrying = atLog(context, signal);
  await retrying(() => removeOpening(log, receiver));
  if (due !== null) await retrying(() => removeTimer(log, due));
};

const recordOf = ({ until, ...opening }: StoredOpening): OpenBreaker => ({
  version: 1,
  ...opening,
  until: new Date(until).toISOString(),
});
