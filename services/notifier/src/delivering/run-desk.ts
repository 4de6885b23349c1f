import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Item, Sent } from '../core/receivers/receiver.ts';
import { verdictOf } from '../core/verdict.ts';
import type { AfterTry, FinalDelivery } from './final-delivery.ts';
import { emptyHand, takeUpTo, type Hand, type Origins, type Untold } from './hand.ts';

export interface DeskOptions {
  readonly dispatcher: Dispatcher;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Never rejects. */
  readonly tryFinal: (delivery: FinalDelivery) => Promise<AfterTry>;
  /** Never rejects. */
  readonly tryIntermediate: (key: RunKey, atLeast: number) => Promise<Sent>;
  /** Sets a final delivery aside, durably. Never rejects. */
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
  /** Whether a final delivery of the run is in hand. */
  has(run: RunId): boolean;
  /** Takes back what was not begun, and waits for the rest. */
  close(): Promise<void>;
  readonly size: number;
}

const ONE_INTERMEDIATE_MS = 1_000;
/** What was not to be sent, through no fault of its own, is offered again after so long. */
const AGAIN_MS = 15_000;
/** With more in hand than this, intermediate ones that are put off are dropped. */
const MOST_HANDS = 50_000;

export const openDesk = (options: DeskOptions): Desk => {
  const { dispatcher, clock } = options;
  const hands = new Map<RunId, Hand>();
  const busy = new Set<Promise<unknown>>();
  let closed = false;

  const handOf = (key: RunKey, origin: string): Hand => {
    const present = hands.get(key.run_id);
    if (present) return present;
    const hand = emptyHand(key, origin);
    hands.set(key.run_id, hand);
    return hand;
  };

  /** Gives the dispatcher what is next to be told of the run, if nothing is there already. */
  const offer = (hand: Hand): void => {
    if (closed || hand.active) return;
    clearTimeout(hand.timer);
    hand.timer = undefined;
    const [delivery] = hand.finals;
    const wait = (delivery ? hand.nextFinal : hand.nextIntermediate) - clock();
    // Kept while it is too early even if nothing is to be told, so that the second is kept too.
    if (wait > 0) hand.timer = setTimeout(() => offer(hand), wait);
    else if (delivery) submit(hand, finalItem(hand, delivery));
    else if (hand.untold) submit(hand, intermediateItem(hand, hand.untold));
    else hands.delete(hand.key.run_id);
  };

  const submit = (hand: Hand, item: Item): void => {
    hand.active = item;
    dispatcher.submit(item);
  };

  const release = (hand: Hand): void => {
    hand.active = undefined;
    offer(hand);
  };

  /** `close` waits for it. */
  const during = <Answer>(work: Promise<Answer>): Promise<Answer> => {
    const over = (): void => void busy.delete(work);
    busy.add(work);
    work.then(over, over);
    return work;
  };

  const finalItem = (hand: Hand, delivery: FinalDelivery): Item => ({
    receiver: hand.receiver,
    final: true,
    send: () => during(sendFinal(hand, delivery)),
    putOff: () => {
      hand.finals.shift();
      void during(options.putOff(delivery).then(() => release(hand)));
    },
  });

  const sendFinal = async (hand: Hand, delivery: FinalDelivery): Promise<Sent> => {
    const { sent, end } = await options.tryFinal(delivery);
    if (end === 'interrupted') {
      // Nothing else stands for it: it stays in hand, unless its source is left to the next holder.
      hand.nextFinal = clock() + AGAIN_MS;
    } else {
      hand.finals.shift();
      options.settle(delivery);
      // Others of the same round stood for the same, unless this one gave way to them.
      if (end === 'settled') for (const equal of takeUpTo(hand, delivery.round)) options.settle(equal);
    }
    release(hand);
    return sent;
  };

  const intermediateItem = (hand: Hand, untold: Untold): Item => ({
    receiver: hand.receiver,
    final: false,
    send: () => during(sendIntermediate(hand, untold)),
    putOff: () => {
      hand.untold = undefined;
      // Not at once: whoever puts it off is in the middle of something.
      queueMicrotask(() => {
        tellLater(hand, untold);
        release(hand);
      });
    },
  });

  const sendIntermediate = async (hand: Hand, untold: Untold): Promise<Sent> => {
    hand.untold = undefined;
    hand.nextIntermediate = clock() + ONE_INTERMEDIATE_MS;
    const sent = await options.tryIntermediate(hand.key, untold.atLeast);
    // One that was refused is not sent again: the next says more.
    if (wasMade(sent)) options.settleIntermediate(untold);
    else tellLater(hand, untold);
    release(hand);
    return sent;
  };

  /** Nothing may follow for hours, so that it is kept; but only in memory, or a restart would have to begin as far back. */
  const tellLater = (hand: Hand, { atLeast, ...origins }: Untold): void => {
    // Whoever holds the share next reads of it again.
    if (closed) return;
    options.settleIntermediate(origins);
    hand.nextIntermediate = clock() + AGAIN_MS;
    if (hand.finals.length > 0 || hands.size > MOST_HANDS) return;
    hand.untold ??= { atLeast, runs: [], activity: [] };
  };

  return {
    tellFinal: (delivery) => {
      const hand = handOf(delivery.key, delivery.origin);
      hand.finals.push(delivery);
      // It overtakes what waits; what is in flight is let finish, or it could arrive after the end.
      if (hand.untold) options.settleIntermediate(hand.untold);
      hand.untold = undefined;
      if (hand.active && !hand.active.final && dispatcher.withdraw(hand.active)) hand.active = undefined;
      offer(hand);
    },
    tellIntermediate: (key, origin, { runs, activity }) => {
      const hand = handOf(key, origin);
      const told: Untold = { atLeast: 0, runs: [], activity: [] };
      const into = hand.finals.length > 0 ? told : (hand.untold ??= told);
      into.atLeast = Math.max(into.atLeast, runs ?? 0);
      if (runs !== undefined) into.runs.push(runs);
      if (activity !== undefined) into.activity.push(activity);
      if (hand.finals.length > 0) options.settleIntermediate(told);
      offer(hand);
    },
    has: (run) => (hands.get(run)?.finals.length ?? 0) > 0,
    close: async () => {
      closed = true;
      for (const hand of hands.values()) {
        clearTimeout(hand.timer);
        if (hand.active) dispatcher.withdraw(hand.active);
      }
      while (busy.size > 0) await Promise.allSettled(busy);
      hands.clear();
    },
    get size() {
      return hands.size;
    },
  };
};

const wasMade = (sent: Sent): boolean => {
  const verdict = sent === 'nothing' ? undefined : verdictOf(sent);
  return verdict !== 'own' && verdict !== 'interrupted';
};
