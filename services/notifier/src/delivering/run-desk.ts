import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Item, Receiver, Sent } from '../dispatch/item.ts';
import type { AfterTry, FinalDelivery } from './final.ts';

/** Where an intermediate notification comes from: sequences that are settled once it is told. */
export interface Origins {
  readonly runs: number[];
  readonly activity: number[];
}

export interface DeskOptions {
  readonly dispatcher: Dispatcher;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly tryFinal: (delivery: FinalDelivery) => Promise<AfterTry>;
  readonly tryIntermediate: (key: RunKey, atLeast: number) => Promise<Sent>;
  /** Sets a final delivery aside, durably. */
  readonly putOff: (delivery: FinalDelivery) => Promise<void>;
  /** The source of a final delivery is used up. */
  readonly settle: (delivery: FinalDelivery) => void;
  readonly settleIntermediate: (origins: Origins) => void;
}

/**
 * The runs that have something to tell. For each run one notification at a time: intermediate ones at most once a second, the
 * latest wins, and the final one overtakes those that wait.
 */
export interface Desk {
  tellFinal(delivery: FinalDelivery): void;
  tellIntermediate(
    key: RunKey,
    origin: string,
    at: { readonly runs?: number; readonly activity?: number },
  ): void;
  has(run: RunId): boolean;
  /** Takes back what was not begun, and waits for the rest. */
  close(): Promise<void>;
  readonly size: number;
}

/** What one run has to tell. */
interface Hand {
  readonly key: RunKey;
  readonly receiver: Receiver;
  /** The first is at the dispatcher, or waits for an intermediate one that is in flight. */
  readonly finals: FinalDelivery[];
  untold: Origins | undefined;
  active: Item | undefined;
  /** Monotonic: the next intermediate one not before. */
  notBefore: number;
  timer: NodeJS.Timeout | undefined;
}

const ONE_INTERMEDIATE_MS = 1_000;

export const openDesk = (options: DeskOptions): Desk => {
  const { dispatcher, clock } = options;
  const hands = new Map<RunId, Hand>();
  const busy = new Set<Promise<void>>();
  let closed = false;

  const handOf = (key: RunKey, origin: string): Hand => {
    const present = hands.get(key.run_id);
    if (present) return present;
    const hand: Hand = {
      key,
      receiver: { org_id: key.org_id, origin },
      finals: [],
      untold: undefined,
      active: undefined,
      notBefore: 0,
      timer: undefined,
    };
    hands.set(key.run_id, hand);
    return hand;
  };

  /** Gives the dispatcher what is next to be told of the run, if nothing is there already. */
  const offer = (hand: Hand): void => {
    if (closed || hand.active) return;
    clearTimeout(hand.timer);
    hand.timer = undefined;
    const [delivery] = hand.finals;
    if (delivery) return submit(hand, finalItem(hand, delivery));
    const wait = hand.notBefore - clock();
    if (wait > 0) {
      // Kept while it is too early, so that the second is kept too.
      hand.timer = setTimeout(() => offer(hand), wait);
    } else if (hand.untold) submit(hand, intermediateItem(hand, hand.untold));
    else hands.delete(hand.key.run_id);
  };

  const submit = (hand: Hand, item: Item): void => {
    hand.active = item;
    dispatcher.submit(item);
  };

  const during = (work: Promise<void>): void => {
    busy.add(work);
    void work.finally(() => busy.delete(work));
  };

  const finalItem = (hand: Hand, delivery: FinalDelivery): Item => ({
    receiver: hand.receiver,
    final: true,
    send: async () => {
      const over = Promise.withResolvers<void>();
      during(over.promise);
      const { sent, end } = await options.tryFinal(delivery);
      hand.active = undefined;
      hand.finals.shift();
      if (end !== 'interrupted') options.settle(delivery);
      // Others of the same round stood for the same, unless this one gave way to them.
      if (end === 'settled') dropEqual(hand, delivery.round);
      offer(hand);
      over.resolve();
      return sent;
    },
    putOff: () => {
      hand.finals.shift();
      during(
        options.putOff(delivery).finally(() => {
          hand.active = undefined;
          offer(hand);
        }),
      );
    },
  });

  const dropEqual = (hand: Hand, round: number): void => {
    for (const other of hand.finals.splice(0)) {
      if (other.round > round) hand.finals.push(other);
      else options.settle(other);
    }
  };

  const intermediateItem = (hand: Hand, origins: Origins): Item => {
    const done = (): void => {
      hand.active = undefined;
      options.settleIntermediate(origins);
      offer(hand);
    };
    return {
      receiver: hand.receiver,
      final: false,
      send: async () => {
        const over = Promise.withResolvers<void>();
        during(over.promise);
        hand.untold = undefined;
        hand.notBefore = clock() + ONE_INTERMEDIATE_MS;
        const sent = await options.tryIntermediate(hand.key, Math.max(0, ...origins.runs));
        done();
        over.resolve();
        return sent;
      },
      // The next says more.
      putOff: () => {
        hand.untold = undefined;
        hand.notBefore = clock() + ONE_INTERMEDIATE_MS;
        // Not at once: whoever puts it off is in the middle of something.
        queueMicrotask(done);
      },
    };
  };

  return {
    tellFinal: (delivery) => {
      if (closed) return;
      const hand = handOf(delivery.key, delivery.origin);
      hand.finals.push(delivery);
      // It overtakes what waits; what is in flight is let finish, or it could arrive after the end.
      if (hand.untold) options.settleIntermediate(hand.untold);
      hand.untold = undefined;
      if (hand.active && !hand.active.final && dispatcher.withdraw(hand.active)) hand.active = undefined;
      offer(hand);
    },
    tellIntermediate: (key, origin, { runs, activity }) => {
      if (closed) return;
      const hand = handOf(key, origin);
      const settled: Origins = { runs: [], activity: [] };
      const into = hand.finals.length > 0 ? settled : (hand.untold ??= { runs: [], activity: [] });
      if (runs !== undefined) into.runs.push(runs);
      if (activity !== undefined) into.activity.push(activity);
      if (into === settled) options.settleIntermediate(settled);
      offer(hand);
    },
    has: (run) => (hands.get(run)?.finals.length ?? 0) > 0,
    close: async () => {
      closed = true;
      for (const hand of hands.values()) {
        clearTimeout(hand.timer);
        if (hand.active) dispatcher.withdraw(hand.active);
      }
      while (busy.size > 0) await Promise.all(busy);
      hands.clear();
    },
    get size() {
      return hands.size;
    },
  };
};
