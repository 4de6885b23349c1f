import { outcomesOf } from '../core/verdict.ts';
import type { Breakers } from '../breaker/breakers.ts';
import type { Item, Receiver } from '../core/receivers/receiver.ts';
import { hasWaiting, learn, openLanes, takeOlder, type Lane } from '../core/receivers/receiver-queues.ts';
import { openParked } from './parked.ts';
import { openPlaces } from '../core/receivers/concurrency-limits.ts';
import { openTurns } from '../core/receivers/attempt-turns.ts';

export interface DispatcherOptions {
  readonly breakers: Breakers;
  /** Tries in flight at most, over all receivers. */
  readonly most: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /**
   * Submits up to so many deliveries that are parked at a receiver. Resolves with whether any is left there, and never
   * rejects. The dispatcher asks while the receiver has room and nothing else waits for it.
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

/** Decides which try is made next, so that a receiver holds up nothing but its own. */
export const openDispatcher = ({ breakers, most, clock, refill }: DispatcherOptions): Dispatcher => {
  const lanes = openLanes();
  const places = openPlaces(most);
  const turns = openTurns(places);
  const withWaiting = new Set<Lane>();
  let waiting = 0;
  let ending = false;
  let closed = false;

  const isOpen = ({ receiver, name }: Lane): boolean =>
    breakers.state(name).kind === 'open' || breakers.state(receiver.origin).kind === 'open';

  /** How many more may be in flight at the receiver now. */
  const roomOf = ({ receiver, name, inFlight, limit }: Lane): number => {
    const there = breakers.state(receiver.origin);
    const state = breakers.state(name);
    if (there.kind === 'open' || state.kind === 'open') return 0;
    const room = Math.min(limit, state.kind === 'probing' ? state.limit : limit) - inFlight;
    return there.kind === 'probing' ? Math.min(room, there.limit - places.atOrigin(receiver.origin)) : room;
  };

  /** To be called after everything that may give the lane something to do, or let it do so. */
  const offer = (lane: Lane): void => {
    if (hasWaiting(lane)) {
      if (roomOf(lane) > 0) turns.add(lane);
    } else if (lane.parked) parked.offer(lane);
    else lanes.release(lane);
  };

  const parked = openParked({
    refill,
    roomOf,
    onRefilled: (lane) => {
      offer(lane);
      pump();
    },
  });

  const pump = (): void => {
    // While an end is being told, not everything is known of it: it could be a second probe.
    if (closed || ending) return;
    while (places.hasFree) {
      const lane = turns.next();
      if (!lane) break;
      if (!hasWaiting(lane) || roomOf(lane) <= 0) continue;
      const next = lane.finals.shift() ?? lane.others.shift();
      if (next) begin(lane, next.item);
      offer(lane);
    }
    parked.pump();
  };

  const begin = (lane: Lane, item: Item): void => {
    const { receiver, name } = lane;
    const origin = breakers.ticket(receiver.origin);
    const own = breakers.ticket(name);
    countWaiting(lane, -1);
    parked.moved(lane);
    const flight = places.take(lane, clock());
    void item.send().then((sent) => {
      places.leave(flight);
      const outcomes = sent === 'nothing' ? undefined : outcomesOf(sent);
      ending = true;
      breakers.report(receiver.origin, origin, outcomes?.origin ?? 'neutral');
      breakers.report(name, own, outcomes?.receiver ?? 'neutral');
      ending = false;
      learn(lane, sent, clock() - flight.since);
      offer(lane);
      if (breakers.state(receiver.origin).kind === 'probing')
        for (const other of lanes.at(receiver.origin)) offer(other);
      pump();
    });
  };

  const countWaiting = (lane: Lane, by: number): void => {
    waiting += by;
    if (hasWaiting(lane)) withWaiting.add(lane);
    else {
      withWaiting.delete(lane);
      parked.moved(lane);
    }
  };

  const putOff = (lane: Lane, items: readonly Item[]): void => {
    if (items.some(({ final }) => final)) {
      lane.parked = true;
      parked.lookAgain(lane);
    } else offer(lane);
    for (const item of items) item.putOff();
  };
  const putOffOlder = (lane: Lane, than: number): void => {
    const late = takeOlder(lane, than);
    if (late.length === 0) return;
    countWaiting(lane, -late.length);
    putOff(lane, late);
  };

  const look = setInterval(() => {
    const now = clock();
    places.lookForSlow(now);
    for (const lane of withWaiting) putOffOlder(lane, now - LONGEST_WAIT_MS);
    for (const lane of parked.takeLookedFor()) offer(lane);
    pump();
  }, LOOK_EVERY_MS);

  const offChange = breakers.onChange((key, state) => {
    const origin = key.slice(key.indexOf(' ') + 1);
    for (const lane of lanes.at(origin)) {
      if (key !== origin && key !== lane.name) continue;
      if (state.kind === 'open') {
        lane.standing = 'suspect';
        putOffOlder(lane, Infinity);
      } else offer(lane);
    }
    pump();
  });

  return {
    submit: (item) => {
      const lane = lanes.of(item.receiver);
      const queue = item.final ? lane.finals : lane.others;
      if (isOpen(lane)) lane.standing = 'suspect';
      if (
        closed ||
        isOpen(lane) ||
        queue.length >= MOST_AT_RECEIVER ||
        (waiting >= MOST_WAITING && hasWaiting(lane))
      )
        return putOff(lane, [item]);
      queue.push({ item, since: clock() });
      if (lane.refilled !== undefined) lane.refilled += 1;
      countWaiting(lane, 1);
      offer(lane);
      pump();
    },
    withdraw: (item) => {
      const lane = lanes.find(item.receiver);
      const queue = item.final ? lane?.finals : lane?.others;
      const at = queue?.findIndex((one) => one.item === item) ?? -1;
      if (!lane || !queue || at < 0) return false;
      queue.splice(at, 1);
      countWaiting(lane, -1);
      offer(lane);
      pump();
      return true;
    },
    expectParked: (receiver) => {
      const lane = lanes.of(receiver);
      if (lane.standing === 'new') lane.standing = 'suspect';
      lane.parked = true;
      offer(lane);
      pump();
    },
    get inFlight() {
      return places.inFlight;
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
