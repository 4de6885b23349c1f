import type { OpenBreaker } from '@runledger/contracts/deliveries/deliveries';
import type { RunId } from '@runledger/contracts/ids';
import { recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import { removeOpening, removeTimer, storeOpening, nextDeferred, deferDelivery } from '../timers/timers.ts';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import type { Breakers, BreakerState } from '../breaker/breakers.ts';
import { isSuperseded } from './attempt-final.ts';
import { deliveryIn, pendingOf, type FinalDelivery } from '../delivering/final-delivery.ts';
import type { DeliveryContext } from './delivery-context.ts';
import { nameOf, type Receiver } from '../core/receivers/receiver.ts';
import { inTurns } from '@runledger/event-log/connect/in-turns';

/** When a receiver has too much to take at once, what is set aside is looked at again by then at the latest. */
const LOOK_AT_PARKED_MS = 30_000;

export interface ParkingOptions {
  readonly parts: DeliveryContext;
  readonly breakers: Breakers;
  /** Aborted when nothing more may be written. */
  readonly stopped: AbortSignal;
  /** The source of a delivery is used up. */
  readonly settle: (delivery: FinalDelivery) => void;
  readonly isInHand: (run: RunId) => boolean;
  readonly tell: (delivery: FinalDelivery) => void;
}

/**
 * The deliveries of a share that are set aside in TIMERS. While any is parked at a receiver, a timer of the broker will remind
 * of it, whoever holds the share then.
 */
export interface Parking {
  /** Never rejects. */
  putOff(delivery: FinalDelivery): Promise<void>;
  /** Tells of up to so many that are parked at the receiver. Resolves with whether any is left. */
  refill(receiver: Receiver, most: number): Promise<boolean>;
  /** The timer of a receiver is due. */
  reminded(receiver: Receiver, sequence: number): void;
  onBreaker(at: Pick<OpenBreaker, 'origin' | 'org_id'>, state: BreakerState): void;
}

export const openParking = (options: ParkingOptions): Parking => {
  const { parts, breakers, stopped, settle } = options;
  const { log, logger, now, metrics } = parts;
  const act = <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
    retryWhileUnavailable({ signal: stopped, logger }, work);
  const inTurn = inTurns();
  /** Of each receiver: how many are being set aside right now. */
  const settingAside = new Map<string, number>();
  /** Receivers that a timer reminds of; the sequence of one that is due. */
  const reminders = new Map<string, number | null>();
  /** How far the parked ones of a receiver were told of. */
  const cursors = new Map<string, number>();

  const nextLook = (receiver: Receiver): Pick<OpenBreaker, 'opens' | 'until'> => {
    const own = breakers.state(nameOf(receiver));
    const origin = breakers.state(receiver.origin);
    if (own.kind === 'open') return { opens: own.opens, until: new Date(own.until).toISOString() };
    const until = origin.kind === 'open' ? origin.until : now().getTime() + LOOK_AT_PARKED_MS;
    return { opens: 0, until: new Date(until).toISOString() };
  };
  const remind = async (receiver: Receiver): Promise<void> => {
    const name = nameOf(receiver);
    if (reminders.has(name)) return;
    await act(() => storeOpening(log, { version: 1, ...receiver, ...nextLook(receiver) }));
    reminders.set(name, reminders.get(name) ?? null);
  };
  const forget = async (receiver: Receiver): Promise<void> => {
    const name = nameOf(receiver);
    const sequence = reminders.get(name);
    reminders.delete(name);
    if (sequence === undefined) return;
    await act(() => removeOpening(log, receiver));
    if (sequence !== null) await act(() => removeTimer(log, sequence));
  };

  const park = async (delivery: FinalDelivery, receiver: Receiver): Promise<void> => {
    // First what reminds of it, so that nothing is parked for ever.
    await remind(receiver);
    if (delivery.source.kind === 'parked') return;
    if (!delivery.careful || !(await isSuperseded(parts, delivery, stopped))) {
      await act(() => deferDelivery(log, pendingOf(delivery, now())));
      metrics.parked();
      tellWhy(delivery);
    }
    settle(delivery);
  };
  const tellWhy = ({ key, round, tries }: FinalDelivery): void => {
    const message = 'Set aside until its receiver takes notifications again.';
    const state = { version: 1, state: 'deferred', next_try_at: null, last_reason: null, message } as const;
    recordDeliveryState(log, key, { ...state, round, tries, at: now().toISOString() }).catch(
      (error: unknown) =>
        logger.warn({ err: error, run_id: key.run_id }, 'where a delivery stands could not be kept'),
    );
  };
  const count = (name: string, by: 1 | -1): void => {
    const left = (settingAside.get(name) ?? 0) + by;
    if (left === 0) settingAside.delete(name);
    else settingAside.set(name, left);
  };

  /** False when all that is parked was told of once: from the beginning again, the next time. */
  const tellNext = async (receiver: Receiver): Promise<'told' | 'in_hand' | 'end' | 'empty'> => {
    const name = nameOf(receiver);
    const cursor = cursors.get(name) ?? 0;
    const next = await act(() => nextDeferred(log, receiver, cursor));
    if (!next) {
      cursors.delete(name);
      return cursor > 0 || settingAside.has(name) ? 'end' : 'empty';
    }
    cursors.set(name, next.sequence);
    // It may be what is left behind of one that went on.
    const delivery = deliveryIn(next, 'parked', true);
    if (options.isInHand(delivery.key.run_id)) return 'in_hand';
    options.tell(delivery);
    return 'told';
  };

  return {
    putOff: async (delivery) => {
      const receiver = { org_id: delivery.key.org_id, origin: delivery.origin };
      const name = nameOf(receiver);
      count(name, 1);
      try {
        await inTurn(name, () => park(delivery, receiver));
      } catch (error) {
        const { run_id } = delivery.key;
        if (!stopped.aborted) logger.error({ err: error, run_id }, 'a delivery could not be set aside');
      } finally {
        count(name, -1);
      }
    },
    refill: async (receiver, most) => {
      try {
        return await inTurn(nameOf(receiver), async () => {
          // For one alone the first will do. Behind a position the broker looks through what is parked at others, too.
          if (most === 1) cursors.delete(nameOf(receiver));
          for (let told = 0; told < most;) {
            const next = await tellNext(receiver);
            if (next === 'told') told += 1;
            if (next === 'end') return true;
            if (next === 'empty') {
              await forget(receiver);
              return false;
            }
          }
          return true;
        });
      } catch (error) {
        if (stopped.aborted) return false;
        logger.error({ err: error, origin: receiver.origin }, 'parked deliveries could not be read');
        return true;
      }
    },
    reminded: (receiver, sequence) => void reminders.set(nameOf(receiver), sequence),
    onBreaker: ({ origin, org_id }, state) => {
      if (state.kind !== 'open') return;
      const { opens } = state;
      const opening: OpenBreaker = {
        version: 1,
        origin,
        org_id,
        opens,
        until: new Date(state.until).toISOString(),
      };
      const name = org_id === null ? undefined : nameOf({ org_id, origin });
      if (name !== undefined) reminders.set(name, reminders.get(name) ?? null);
      act(() => storeOpening(log, opening)).catch((error: unknown) => {
        if (!stopped.aborted)
          logger.error({ err: error, origin }, 'the opening of a breaker could not be kept');
      });
    },
  };
};
