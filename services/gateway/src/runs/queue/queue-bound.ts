import { LRUCache } from 'lru-cache';
import type { OrgId } from '@runledger/contracts/ids';
import type { FreshViews } from '../../projection/fresh-views.ts';
import { openBreaker } from '../../breaker/breaker.ts';
import { oneAtATime } from '../../concurrency/one-at-a-time.ts';
import { ViewsUnavailable, type RunViews } from '../../projection/run-views.ts';

export interface QueueBoundOptions {
  readonly views: Pick<RunViews, 'countQueued'>;
  readonly fresh: FreshViews;
  /** Runs that an organisation may have in the queue. */
  readonly most: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The bound of every organisation's queue. */
export interface QueueBound extends Disposable {
  /** Calls `accept`, which queues one run at most, unless the queue of the organisation is full. @throws what `accept` throws */
  readonly within: <Result>(org_id: OrgId, accept: () => Promise<Result>) => Promise<Result | 'queue_full'>;
}

interface Queue {
  /** As the views said. */
  counted: number;
  countedAt: number;
  /** Runs that were let in since then. */
  letIn: number;
  /** Runs whose `accept` ended since views were counted that hold all of the log. */
  since: number;
  /** Runs whose `accept` is under way. */
  underWay: number;
  readonly count: () => Promise<void>;
}

/** The bound is near when less than a tenth of it is free, or less than this. */
const NEAR_RUNS = 100;
const NEAR_PART = 0.1;
const COUNTED_FOR_MS = 1_000;
/** A count is good for so much of what is free when the bound gets near: ten gateways that are as busy stay within it. */
const COUNTED_FOR_PART = 0.1;
const MOST_KEPT = 10_000;
/** A count reads the views twice, and waits for fresh ones in between. */
const COUNT_TIMEOUT_MS = 10_000;

const nearOf = (most: number): number => Math.max(NEAR_RUNS, most * NEAR_PART);

/**
 * Far from the bound the views are counted once a second or once for many runs, and what this gateway accepted
 * meanwhile is added. Near it they are counted for each request, once they hold what the log holds; requests that come
 * meanwhile share the next count. So a gateway never goes beyond the bound by itself; several do by what they accept at
 * the same moment, and a place or two may stay empty for a moment. Where the views are away the bound is not known, and
 * nothing is refused.
 */
export const openQueueBound = (options: QueueBoundOptions): QueueBound => {
  const { most, clock } = options;
  const queues = new LRUCache<OrgId, Queue>({
    max: MOST_KEPT,
    memoMethod: (org_id) => newQueue(options, org_id),
  });
  const counting = openBreaker<[Queue], boolean>({
    action: async (_signal, queue) => {
      await queue.count();
      return true;
    },
    timeoutMs: COUNT_TIMEOUT_MS,
    opensOn: 'first_failure',
    fallback: (why) => {
      if (why.kind === 'failed' && !(why.error instanceof ViewsUnavailable)) throw why.error;
      return false;
    },
  });
  /** False where the views are away. */
  const isCounted = async (queue: Queue): Promise<boolean> => {
    const isRecent =
      clock() - queue.countedAt < COUNTED_FOR_MS && queue.letIn < nearOf(most) * COUNTED_FOR_PART;
    if (isRecent && most - sizeOf(queue) > nearOf(most)) return true;
    return counting.call(queue);
  };
  const within: QueueBound['within'] = async (org_id, accept) => {
    const queue = queues.memo(org_id);
    // Looked at and taken in one step: many may have waited for the same count.
    if ((await isCounted(queue)) && sizeOf(queue) >= most) return 'queue_full';
    queue.underWay += 1;
    queue.letIn += 1;
    try {
      return await accept();
    } finally {
      queue.underWay -= 1;
      queue.since += 1;
    }
  };
  return { within, [Symbol.dispose]: () => counting[Symbol.dispose]() };
};

const sizeOf = ({ counted, since, underWay }: Queue): number => counted + since + underWay;

const newQueue = ({ views, fresh, most, clock }: QueueBoundOptions, org_id: OrgId): Queue => {
  const isNear = (): boolean => most - sizeOf(queue) <= nearOf(most);
  const count = async (): Promise<void> => {
    if (!isNear()) queue.counted = await views.countQueued(org_id, most);
    if (isNear()) {
      const { since } = queue;
      const holdsAll = await fresh();
      queue.counted = await views.countQueued(org_id, most);
      if (holdsAll) queue.since -= since;
    }
    queue.countedAt = clock();
    queue.letIn = 0;
  };
  const queue: Queue = {
    counted: 0,
    countedAt: Number.NEGATIVE_INFINITY,
    letIn: 0,
    since: 0,
    underWay: 0,
    count: oneAtATime(count),
  };
  return queue;
};
