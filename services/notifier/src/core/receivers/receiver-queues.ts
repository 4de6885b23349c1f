import { isCharged, outcomesOf } from '../verdict.ts';
import { nameOf, type Item, type Receiver, type Sent } from './receiver.ts';

/**
 * What is to be expected of a receiver. `proven`: it took the last try, and soon, so that it will not hold a place for long.
 * `suspect`: it failed, is slow, or has a breaker that opened.
 */
export type Standing = 'proven' | 'new' | 'suspect';

export const STANDINGS = ['proven', 'new', 'suspect'] as const;

/** What waits for one receiver, and how it took what was sent to it. */
export interface Lane {
  readonly receiver: Receiver;
  readonly name: string;
  /** The longest waiting first. */
  readonly finals: Waiting[];
  readonly others: Waiting[];
  inFlight: number;
  /** How many may be in flight: it grows with every success, and falls to one with a failure. */
  limit: number;
  standing: Standing;
  /** More stands in the log than here. */
  parked: boolean;
  /** How many came since the log was asked for what is parked; undefined when it is not being asked. */
  refilled: number | undefined;
}

interface Waiting {
  readonly item: Item;
  /** Monotonic, in milliseconds. */
  readonly since: number;
}

/** Until it has answered: however many there are that never will, each of them takes one place. */
const FIRST_LIMIT = 1;
const HIGHEST_LIMIT = 32;

/** What takes longer may take until its time is over. */
export const SOON_MS = 1_000;

export const hasWaiting = ({ finals, others }: Lane): boolean => finals.length + others.length > 0;

/** Takes out what has waited since before then, finals first. */
export const takeOlder = (lane: Lane, than: number): Item[] =>
  [lane.finals, lane.others].flatMap((queue) => {
    const younger = queue.findIndex(({ since }) => since >= than);
    return queue.splice(0, younger < 0 ? queue.length : younger).map(({ item }) => item);
  });

/** How it took a try that lasted so long. */
export const learn = (lane: Lane, sent: Sent, tookMs: number): void => {
  if (sent === 'nothing') return;
  if (isCharged(sent)) {
    lane.standing = 'suspect';
    lane.limit = 1;
  } else if (outcomesOf(sent).receiver === 'success') {
    lane.standing = tookMs <= SOON_MS ? 'proven' : 'suspect';
    lane.limit = Math.min(lane.limit + 1, HIGHEST_LIMIT);
  }
};

export interface Lanes {
  of(receiver: Receiver): Lane;
  find(receiver: Receiver): Lane | undefined;
  at(origin: string): Iterable<Lane>;
  /** Forgets a lane that has nothing to do, when many are known. */
  release(lane: Lane): void;
  readonly size: number;
}

/** Lanes without work that are remembered, for how their receivers did. */
const MOST_IDLE = 20_000;

export const openLanes = (mostIdle = MOST_IDLE): Lanes => {
  const lanes = new Map<string, Lane>();
  const byOrigin = new Map<string, Set<Lane>>();
  const idle = new Set<Lane>();
  const forget = (lane: Lane): void => {
    idle.delete(lane);
    lanes.delete(lane.name);
    const there = byOrigin.get(lane.receiver.origin);
    there?.delete(lane);
    if (there?.size === 0) byOrigin.delete(lane.receiver.origin);
  };
  const make = (receiver: Receiver): Lane => {
    const lane: Lane = {
      receiver,
      name: nameOf(receiver),
      finals: [],
      others: [],
      inFlight: 0,
      limit: FIRST_LIMIT,
      standing: 'new',
      parked: false,
      refilled: undefined,
    };
    lanes.set(lane.name, lane);
    const there = byOrigin.get(receiver.origin);
    if (there) there.add(lane);
    else byOrigin.set(receiver.origin, new Set([lane]));
    return lane;
  };
  return {
    of: (receiver) => {
      const lane = lanes.get(nameOf(receiver)) ?? make(receiver);
      idle.delete(lane);
      return lane;
    },
    find: (receiver) => lanes.get(nameOf(receiver)),
    at: (origin) => byOrigin.get(origin) ?? [],
    release: (lane) => {
      const isBusy = lane.inFlight > 0 || lane.parked || lane.refilled !== undefined || hasWaiting(lane);
      if (isBusy || lanes.get(lane.name) !== lane) return;
      idle.delete(lane);
      idle.add(lane);
      if (idle.size <= mostIdle) return;
      const [oldest] = idle;
      if (oldest) forget(oldest);
    },
    get size() {
      return lanes.size;
    },
  };
};
