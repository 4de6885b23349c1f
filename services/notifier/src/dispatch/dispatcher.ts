import { isCharged, outcomesOf } from '../domain/verdict.ts';
import { fairRing } from '../domain/fair-ring.ts';
import type { Breakers } from '../breaker/breakers.ts';
import type { Item, Receiver, Sent } from './item.ts';
import { hasWaiting, HIGHEST_LIMIT, openLanes, type Lane } from './lanes.ts';

export interface DispatcherOptions {
  readonly breakers: Breakers;
  /** Tries in flight at most, over all receivers. */
  readonly most: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /**
   * Submits up to so many deliveries that are parked at a receiver. Resolves with whether any is left there. The
   * dispatcher asks while the receiver has room and nothing else waits for it.
   */
  readonly refill: (receiver: Receiver, most: number) => Promise<boolean>;
}

export interface Dispatcher {
  /** Sends it in its turn, or puts it off at once. */
  submit(item: Item): void;
  /** Takes it back, when it was not begun. */
  withdraw(item: Item): boolean;
  /** Deliveries are parked at the receiver, to be sent when its breaker lets them through. */
  expectParked(receiver: Receiver): void;
  readonly inFlight: number;
  readonly waiting: number;
  close(): void;
}

/** Waiting at one receiver, in memory. What is beyond it stands in the log. */
const MOST_AT_RECEIVER = 2_000;
const MOST_WAITING = 50_000;
/** What waits longer is put off, so that a restart need not begin far back. */
const LONGEST_WAIT_MS = 5_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Decides which try is made next, so that a receiver holds up nothing but its own. Whoever has not proven to answer may take
 * up half of the places, and one organisation's unproven receivers half of these.
 */
export const openDispatcher = ({ breakers, most, clock, refill }: DispatcherOptions): Dispatcher => {
  const lanes = openLanes();
  const proven = fairRing<Lane>();
  const unproven = fairRing<Lane>();
  const withWaiting = new Set<Lane>();
  const withParked = new Set<Lane>();
  const atOrigin = new Map<string, number>();
  const unprovenOf = new Map<string, number>();
  const mostUnproven = Math.max(Math.floor(most / 2), 1);
  const mostUnprovenOfOne = Math.max(Math.floor(most / 4), 1);
  let inFlight = 0;
  let unprovenInFlight = 0;
  let waiting = 0;
  let closed = false;

  const isOpen = ({ receiver, name }: Lane): boolean =>
    breakers.state(name).kind === 'open' || breakers.state(receiver.origin).kind === 'open';

  /** How many more may be in flight at the receiver now. */
  const roomOf = ({ receiver, name, inFlight: own, limit }: Lane): number => {
    const there = breakers.state(receiver.origin);
    const state = breakers.state(name);
    if (there.kind === 'open' || state.kind === 'open') return 0;
    const room = Math.min(limit, state.kind === 'probing' ? state.limit : limit) - own;
    return there.kind === 'probing'
      ? Math.min(room, there.limit - (atOrigin.get(receiver.origin) ?? 0))
      : room;
  };

  const offer = (lane: Lane): void => {
    if (hasWaiting(lane)) {
      if (roomOf(lane) > 0) (lane.proven ? proven : unproven).add(lane.receiver.org_id, lane);
    } else if (lane.parked) void fetchParked(lane);
    else lanes.release(lane);
  };

  const fetchParked = async (lane: Lane): Promise<void> => {
    const room = roomOf(lane);
    if (closed || lane.refilling || room <= 0) return;
    lane.refilling = true;
    try {
      setParked(lane, await refill(lane.receiver, room * 2));
    } finally {
      lane.refilling = false;
    }
    if (hasWaiting(lane) || !lane.parked) offer(lane);
    pump();
  };

  const setParked = (lane: Lane, parked: boolean): void => {
    lane.parked = parked;
    if (parked) withParked.add(lane);
    else withParked.delete(lane);
  };

  const pump = (): void => {
    for (;;) {
      if (closed || inFlight >= most) return;
      const lane =
        proven.next(() => true) ??
        (unprovenInFlight < mostUnproven
          ? unproven.next((org) => (unprovenOf.get(org) ?? 0) < mostUnprovenOfOne)
          : undefined);
      if (!lane) return;
      // Its situation may have changed since it was offered.
      if (!hasWaiting(lane) || roomOf(lane) <= 0) continue;
      const next = lane.finals.shift() ?? lane.others.shift();
      if (next) begin(lane, next.item);
      offer(lane);
    }
  };

  const begin = (lane: Lane, item: Item): void => {
    const { receiver, name } = lane;
    const isProven = lane.proven;
    const origin = breakers.ticket(receiver.origin);
    const own = breakers.ticket(name);
    waiting -= 1;
    if (!hasWaiting(lane)) withWaiting.delete(lane);
    count(lane, isProven, 1);
    void item.send().then((sent) => {
      count(lane, isProven, -1);
      const outcomes = sent === 'nothing' ? undefined : outcomesOf(sent);
      breakers.report(receiver.origin, origin, outcomes?.origin ?? 'neutral');
      breakers.report(name, own, outcomes?.receiver ?? 'neutral');
      learn(lane, sent);
      offer(lane);
      if (breakers.state(receiver.origin).kind === 'probing')
        for (const other of lanes.at(receiver.origin)) offer(other);
      pump();
    });
  };

  const count = (lane: Lane, isProven: boolean, by: 1 | -1): void => {
    const { org_id, origin } = lane.receiver;
    inFlight += by;
    lane.inFlight += by;
    add(atOrigin, origin, by);
    if (isProven) return;
    unprovenInFlight += by;
    add(unprovenOf, org_id, by);
  };

  const learn = (lane: Lane, sent: Sent): void => {
    if (sent === 'nothing') return;
    if (isCharged(sent)) {
      lane.proven = false;
      lane.limit = 1;
    } else if (outcomesOf(sent).receiver === 'success') {
      lane.proven = true;
      lane.limit = Math.min(lane.limit + 1, HIGHEST_LIMIT);
    }
  };

  const putOffAll = (lane: Lane, which: (since: number) => boolean): void => {
    for (const queue of [lane.finals, lane.others]) {
      const late = queue.filter(({ since }) => which(since));
      if (late.length === 0) continue;
      queue.splice(0, queue.length, ...queue.filter(({ since }) => !which(since)));
      waiting -= late.length;
      for (const { item } of late) {
        if (item.final) setParked(lane, true);
        item.putOff();
      }
    }
    if (!hasWaiting(lane)) withWaiting.delete(lane);
  };

  const look = setInterval(() => {
    const now = clock();
    for (const lane of withWaiting) putOffAll(lane, (since) => now - since > LONGEST_WAIT_MS);
    // What was in hand when it was looked for may be parked again by now.
    for (const lane of withParked) if (lane.inFlight === 0 && !hasWaiting(lane)) offer(lane);
    pump();
  }, LOOK_EVERY_MS);

  const offChange = breakers.onChange((key, state) => {
    const own = key.includes(' ') ? key.slice(key.indexOf(' ') + 1) : key;
    for (const lane of lanes.at(own)) {
      if (key !== own && lane.name !== key) continue;
      if (state.kind === 'open') putOffAll(lane, () => true);
      else offer(lane);
    }
    if (state.kind !== 'open') pump();
  });

  return {
    submit: (item) => {
      const lane = lanes.of(item.receiver);
      const queue = item.final ? lane.finals : lane.others;
      if (closed || isOpen(lane) || queue.length >= MOST_AT_RECEIVER || waiting >= MOST_WAITING) {
        if (item.final) setParked(lane, true);
        item.putOff();
        lanes.release(lane);
        return;
      }
      queue.push({ item, since: clock() });
      waiting += 1;
      withWaiting.add(lane);
      offer(lane);
      pump();
    },
    withdraw: (item) => {
      const lane = lanes.find(item.receiver);
      const queue = item.final ? lane?.finals : lane?.others;
      const at = queue?.findIndex((one) => one.item === item) ?? -1;
      if (!lane || !queue || at < 0) return false;
      queue.splice(at, 1);
      waiting -= 1;
      if (!hasWaiting(lane)) withWaiting.delete(lane);
      return true;
    },
    expectParked: (receiver) => {
      const lane = lanes.of(receiver);
      setParked(lane, true);
      offer(lane);
      pump();
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting;
    },
    close: () => {
      closed = true;
      clearInterval(look);
      offChange();
    },
  };
};

const add = (counts: Map<string, number>, key: string, by: number): void => {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
};
