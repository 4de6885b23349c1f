import type { OpenBreaker } from '@runledger/contracts/deliveries/timers';
import type { FinalDelivery } from '../core/delivery.ts';
import { receiverKey } from '../core/receiver.ts';
import type { StoredOpening } from '../core/inputs-and-effects.ts';
import {
  storedAt,
  deferDelivery,
  removeOpening,
  removeTimer,
  storeOpening,
  deliveryIn,
  pendingOf,
} from '../timers.ts';
import { isSuperseded } from './attempt.ts';
import { fits, recordState } from './conclude-attempt.ts';
import { atLog, guarded, type EffectContext, type EffectOf } from './effect-context.ts';

/** Stores a delivery until its receiver takes notifications again. */
export const defer = async (
  context: EffectContext,
  { delivery, reminder }: EffectOf<'defer_delivery'>,
): Promise<void> => {
  const { inTurn, signalOf, handle } = context;
  const { key, origin, partition, source } = delivery;
  const signal = signalOf(partition);
  const work = { signal, key, failure: 'a delivery could not be deferred' };
  const outcome = await inTurn(receiverKey({ org_id: key.org_id, origin }), () =>
    guarded(context, work, async () => {
      if (!(await fits(context, delivery, signal))) return { kind: 'no_room' } as const;
      if (reminder) await keepOpening(context, reminder, signal);
      // A loaded delivery is still stored.
      if (source.kind !== 'deferred') await store(context, delivery, signal);
      return { kind: 'stored' } as const;
    }),
  );
  handle({ type: 'deferral_finished', run: key.run_id, outcome });
};

const store = async (context: EffectContext, delivery: FinalDelivery, signal: AbortSignal): Promise<void> => {
  const { log, now, metrics } = context;
  const { key, round, attempts: tries, mayBeSuperseded } = delivery;
  if (mayBeSuperseded && (await isSuperseded(context, delivery, signal))) return;
  await atLog(context, signal)(() => deferDelivery(log, pendingOf(delivery, now().getTime())));
  metrics.deferred();
  const message = 'The receiver accepted nothing lately, and is not asked for a while.';
  const times = { next_try_at: null, last_reason: null };
  void recordState(context, key, { state: 'deferred', round, tries, ...times, message });
};

/** Reads deliveries of a receiver that are deferred, or are due and did not fit into memory: at most `max` that are not there now. */
export const loadDeferred = async (
  context: EffectContext,
  { partition, receiver, after, max }: EffectOf<'load_deferred'>,
): Promise<void> => {
  const { log, handle, hasFinal, signalOf } = context;
  const signal = signalOf(partition);
  const retrying = atLog(context, signal);
  let lastSequence = after;
  const finish = (end: 'more' | 'end' | 'nothing_found' | 'failed'): void =>
    handle({ type: 'deferred_loaded', receiver, lastSequence, end });
  try {
    let found = 0;
    for await (const next of storedAt(log, receiver, after, retrying)) {
      lastSequence = next.sequence;
      // It may be a leftover of a delivery that continued.
      const delivery = deliveryIn(next, next.state, true);
      if (hasFinal(delivery.key)) continue;
      handle({ type: 'deferred_found', delivery });
      found += 1;
      if (found >= max) return finish('more');
    }
    finish(lastSequence > after ? 'end' : 'nothing_found');
  } catch (error) {
    const { origin } = receiver;
    if (!signal.aborted) log.logger.error({ err: error, origin }, 'deferred deliveries could not be read');
    finish('failed');
  }
};

/** Without room it is not stored: the next holder of the partition learns from failures, and the reconciliation reminds. */
export const keepOpening = async (
  context: EffectContext,
  { until, ...opening }: StoredOpening,
  signal: AbortSignal,
): Promise<void> => {
  const retrying = atLog(context, signal);
  const stored: OpenBreaker = { version: 1, ...opening, until: new Date(until).toISOString() };
  if (await retrying(() => context.capacity.hasSpace()))
    await retrying(() => storeOpening(context.log, stored));
};

/** The receiver needs no reminder any more. */
export const forgetOpening = async (
  context: EffectContext,
  { receiver, due }: EffectOf<'remove_opening'>,
  signal: AbortSignal,
): Promise<void> => {
  const { log } = context;
  const retrying = atLog(context, signal);
  await retrying(() => removeOpening(log, receiver));
  if (due !== null) await retrying(() => removeTimer(log, due));
};
