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

/** Limits how many queued runs an organisation has. */
export interface QueueBound extends Disposable {
  /** Calls `accept`, which queues one run at most, unless the queue of the organisation is full. @throws what `accept` throws */
  readonly within: <Result>(org_id: OrgId, accept: () => Promise<Result>) => Promise<Result | 'queue_full'>;
}

interface Queue {
  /** In the views. */
  counted: number;
  countedAt: number;
  /** Runs that were accepted since then. */
  admitted: number;
  /** Runs accepted since a count of views that had everything of the log. */
  since: number;
  /** Runs that are being accepted. */
  pending: number;
  readonly count: () => Promise<void>;
}

/** The queue is nearly full when fewer runs than this are free, or less than a tenth. */
const NEAR_RUNS = 100;
const NEAR_PART = 0.1;
const COUNTED_FOR_MS = 1_000;
/** A count is valid until this part of the free runs was accepted: ten equally busy gateways stay within the limit. */
const COUNTED_FOR_PART = 0.1;
const MAX_QUEUES = 10_000;
/** A count reads the views twice, and waits for fresh ones in between. */
const COUNT_TIMEOUT_MS = 10_000;

const nearOf = (most: number): number => Math.max(NEAR_RUNS, most * NEAR_PART);

/**
 * Far from the limit, the queued runs in the views are counted once a second or once for many runs, and the runs that this
 * gateway accepted meanwhile are added. Near the limit they are counted for each request, once the views have everything
 * of the log; concurrent requests share the next count. So one gateway never exceeds the limit. Several gateways
 * may exceed it by what they accept at the same moment. While the views are unavailable, nothing is refused.
 */
export const openQueueBound = (options: QueueBoundOptions): QueueBound => {
  const { most, clock } = options;
  const queues = new LRUCache<OrgId, Queue>({
    max: MAX_QUEUES,
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
  /** False while the views are unavailable. */
  const isCounted = async (queue: Queue): Promise<boolean> => {
    const isRecent =
      clock() - queue.countedAt < COUNTED_FOR_MS && queue.admitted < nearOf(most) * COUNTED_FOR_PART;
    if (isRecent && most - sizeOf(queue) > nearOf(most)) return true;
    return counting.call(queue);
  };
  const within: QueueBound['within'] = async (org_id, accept) => {
    const queue = queues.memo(org_id);
    // No await between check and increment: many requests may have waited for the same count.
    if ((await isCounted(queue)) && sizeOf(queue) >= most) return 'queue_full';
    queue.pending += 1;
    queue.admitted += 1;
    try {
      return await accept();
    } finally {
      queue.pending -= 1;
      queue.since += 1;
    }
  };
  return { within, [Symbol.dispose]: () => counting[Symbol.dispose]() };
};

const sizeOf = ({ counted, since, pending }: Queue): number => counted + since + pending;

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
    queue.admitted = 0;
  };
  const queue: Queue = {
    counted: 0,
    countedAt: Number.NEGATIVE_INFINITY,
    admitted: 0,
    since: 0,
    pending: 0,
    count: oneAtATime(count),
  };
  return queue;
};
