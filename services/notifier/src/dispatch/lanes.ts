import { nameOf, type Item, type Receiver } from './item.ts';

/** What waits for one receiver, and how it took what was sent to it. */
export interface Lane {
  readonly receiver: Receiver;
  readonly name: string;
  readonly finals: Waiting[];
  readonly others: Waiting[];
  inFlight: number;
  /** How many may be in flight: it grows with every success, and falls to one with a failure. */
  limit: number;
  /** The last try was taken: it will not hold a place for long. */
  proven: boolean;
  /** More stands in the log than here. */
  parked: boolean;
  refilling: boolean;
}

interface Waiting {
  readonly item: Item;
  /** Monotonic, in milliseconds. */
  readonly since: number;
}

export const FIRST_LIMIT = 2;
export const HIGHEST_LIMIT = 32;

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

export const openLanes = (): Lanes => {
  const lanes = new Map<string, Lane>();
  const byOrigin = new Map<string, Set<Lane>>();
  const idle = new Set<Lane>();
  const forget = (lane: Lane): void => {
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
      proven: false,
      parked: false,
      refilling: false,
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
      if (lane.inFlight > 0 || lane.parked || lane.refilling || hasWaiting(lane)) return;
      idle.delete(lane);
      idle.add(lane);
      const [oldest] = idle;
      if (idle.size <= MOST_IDLE || !oldest) return;
      idle.delete(oldest);
      forget(oldest);
    },
    get size() {
      return lanes.size;
    },
  };
};

export const hasWaiting = ({ finals, others }: Lane): boolean => finals.length + others.length > 0;
