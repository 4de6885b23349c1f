import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import { isCharged, outcomesOf } from './conclusion.ts';
import { NO_RECORD, type ReceiverRecord, receiverKey, type Receiver, type Sent } from './receiver.ts';

/**
 * What to expect of a receiver. `healthy`: it accepted the last attempt, and soon, so it will not hold a permit for long.
 * `failing`: it failed, is slow, or has a breaker that opened.
 */
export type Health = 'healthy' | 'unknown' | 'failing';

export const HEALTHS = ['healthy', 'unknown', 'failing'] as const;

/** The notifications that wait for one receiver, and what is known of its health. */
export interface ReceiverQueue {
  readonly receiver: Receiver;
  readonly key: string;
  /** That of the origin. */
  readonly partition: number;
  /** The longest waiting first. */
  readonly finals: Waiting[];
  readonly intermediates: Waiting[];
  inFlight: number;
  /** How many may be in flight. It grows with every success, and falls to one with a failure. */
  limit: number;
  health: Health;
  record: ReceiverRecord;
  readonly deferred: DeferredPart;
}

/** What is known of the deliveries of a receiver that are deferred in the log. */
interface DeferredPart {
  /** There are some, or there may be. */
  expected: boolean;
  /** How many were queued since loading began; undefined while nothing is loaded. */
  loaded: number | undefined;
  /** The sequence behind which to load; 0 to begin. */
  after: number;
  /** How many are being deferred right now. */
  deferring: number;
  /** Whether a timer of the broker reminds of them: the sequence of one that is due, null for one that waits. */
  reminder: number | null | undefined;
}

export interface Waiting {
  readonly run: RunId;
  /** Monotonic, in milliseconds. */
  readonly since: number;
}

/** Until it has answered: a receiver that never answers takes one permit. */
export const FIRST_LIMIT = 1;
const HIGHEST_LIMIT = 32;

/** An attempt that takes longer may last until its time-out. */
export const SOON_MS = 1_000;

export const hasWaiting = ({ finals, intermediates }: ReceiverQueue): boolean =>
  finals.length + intermediates.length > 0;

/** Takes out what has waited since before this time, finals first. */
export const takeOlder = (queue: ReceiverQueue, than: number): RunId[] =>
  [queue.finals, queue.intermediates].flatMap((waiting) => {
    const younger = waiting.findIndex(({ since }) => since >= than);
    return waiting.splice(0, younger < 0 ? waiting.length : younger).map(({ run }) => run);
  });

/** Adapts the health and the limit of the receiver to the result of an attempt. */
export const recordResult = (queue: ReceiverQueue, sent: Sent, tookMs: number): void => {
  if (sent === 'nothing') return;
  if (isCharged(sent)) {
    queue.health = 'failing';
    queue.limit = 1;
  } else if (outcomesOf(sent).receiver === 'success') {
    queue.health = tookMs <= SOON_MS ? 'healthy' : 'failing';
    queue.limit = Math.min(queue.limit + 1, HIGHEST_LIMIT);
  }
};

const newQueue = (receiver: Receiver): ReceiverQueue => ({
  receiver,
  key: receiverKey(receiver),
  partition: partitionOf(receiver.origin),
  finals: [],
  intermediates: [],
  inFlight: 0,
  limit: FIRST_LIMIT,
  health: 'unknown',
  record: NO_RECORD,
  deferred: { expected: false, loaded: undefined, after: 0, deferring: 0, reminder: undefined },
});

/** Queues without work that are kept, for the health of their receivers. */
const MAX_IDLE = 20_000;

/** The queues of all receivers. Those without work that were idle longest are forgotten. */
export class ReceiverQueues {
  readonly #queues = new Map<string, ReceiverQueue>();
  readonly #byOrigin = new Map<string, Set<ReceiverQueue>>();
  readonly #idle = new Set<ReceiverQueue>();

  of(receiver: Receiver): ReceiverQueue {
    const queue = this.#queues.get(receiverKey(receiver)) ?? this.#add(newQueue(receiver));
    this.#idle.delete(queue);
    return queue;
  }

  find(receiver: Receiver): ReceiverQueue | undefined {
    return this.#queues.get(receiverKey(receiver));
  }

  all(): Iterable<ReceiverQueue> {
    return this.#queues.values();
  }

  at(origin: string): Iterable<ReceiverQueue> {
    return this.#byOrigin.get(origin) ?? [];
  }

  /** Forgets a queue that has nothing to do, when many are known. */
  release(queue: ReceiverQueue): void {
    const { expected, loaded, deferring } = queue.deferred;
    const isBusy =
      queue.inFlight > 0 || expected || loaded !== undefined || deferring > 0 || hasWaiting(queue);
    if (isBusy || this.#queues.get(queue.key) !== queue) return;
    this.#idle.delete(queue);
    this.#idle.add(queue);
    const [oldest] = this.#idle;
    if (oldest && this.#idle.size > MAX_IDLE) this.#remove(oldest);
  }

  get size(): number {
    return this.#queues.size;
  }

  #add(queue: ReceiverQueue): ReceiverQueue {
    const { origin } = queue.receiver;
    this.#queues.set(queue.key, queue);
    const there = this.#byOrigin.get(origin) ?? new Set();
    this.#byOrigin.set(origin, there.add(queue));
    return queue;
  }

  #remove(queue: ReceiverQueue): void {
    const { origin } = queue.receiver;
    this.#idle.delete(queue);
    this.#queues.delete(queue.key);
    const there = this.#byOrigin.get(origin);
    there?.delete(queue);
    if (there?.size === 0) this.#byOrigin.delete(origin);
  }
}
