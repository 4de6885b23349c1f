import DataLoader from 'dataloader';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { RunId, ExecutorId } from '@runledger/contracts/ids';
import { MAX_REQUESTED_POSITIONS, type QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { ProgressReport } from '@runledger/contracts/events/progress';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import { runName } from '../views/stored-run.decide.ts';
import type { SchedulerClient } from '../records/operators/scheduler-client.ts';

/** The queue positions of these runs, without positions that are not known in time. */
export type QueuePositions = (keys: readonly RunKey[]) => Promise<ReadonlyMap<RunId, QueuePosition>>;

const CACHED_MS = 1_000;
const MAX_CACHED = 10_000;
/** While the scheduler has a request, positions that are requested within this time go into the next one. */
const BATCH_WITHIN_MS = 3;

/** Requests the positions from the scheduler, in batches when there are many, and keeps each for a second. */
export const queuePositions = (scheduler: SchedulerClient, clock: () => number): QueuePositions => {
  let requests = 0;
  const request = async (keys: readonly RunKey[]): Promise<readonly (QueuePosition | undefined)[]> => {
    requests += 1;
    try {
      return await scheduler.queuePositions(keys);
    } finally {
      requests -= 1;
    }
  };
  const loader = new DataLoader<RunKey, QueuePosition | undefined, string>(request, {
    maxBatchSize: MAX_REQUESTED_POSITIONS,
    batchScheduleFn: (send) => (requests === 0 ? setImmediate(send) : setTimeout(send, BATCH_WITHIN_MS)),
    cacheKeyFn: runName,
    cacheMap: new LRUCache<string, Promise<QueuePosition | undefined>>({
      ...atMost(MAX_CACHED),
      ttl: CACHED_MS,
      ttlResolution: 0,
      perf: { now: clock },
    }),
  });
  return async (keys) => {
    const found = await Promise.all(keys.map(async (key) => ({ key, position: await loader.load(key) })));
    const known = new Map<RunId, QueuePosition>();
    for (const { key, position } of found) {
      if (position) known.set(key.run_id, position);
      // The scheduler may know a run that was just queued a moment later.
      else loader.clear(key);
    }
    return known;
  };
};

/** The last report of an attempt; undefined when there is none, or when it cannot be read in time. */
type ReadProgress = (
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
) => Promise<ProgressReport | undefined>;

const MAX_REMEMBERED = 10_000;

/**
 * The progress of the current attempt. It never shows less than before: the broker does not flush reports to disk, and may
 * lose the last ones when it restarts.
 */
export const runProgress = (read: ReadProgress): ((run: Run) => Promise<ProgressReport | undefined>) => {
  const shown = new LRUCache<string, ProgressReport>(atMost(MAX_REMEMBERED));
  return async (run) => {
    if (!isExecuting(run)) return undefined;
    const { number, executor_id } = run.attempt;
    const name = `${run.run_id}.${number}`;
    const before = shown.get(name);
    const now = await read(run, number, executor_id);
    const latest = now && now.progress >= (before?.progress ?? 0) ? now : before;
    if (!latest) return undefined;
    shown.set(name, latest);
    return latest;
  };
};
