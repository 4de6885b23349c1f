import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import type { RunId } from '@runledger/contracts/ids';
import { MAX_REQUESTED_POSITIONS, type QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { runName } from '../../projection/core/run-name.ts';
import type { SchedulerClient } from '../../scheduler/scheduler-client.ts';

/** The queue positions of these runs, without positions that are not known in time. */
export type QueuePositions = (keys: readonly RunKey[]) => Promise<ReadonlyMap<RunId, QueuePosition>>;

export interface QueuePositionsOptions {
  readonly scheduler: Pick<SchedulerClient, 'queuePositions'>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const CACHED_MS = 1_000;
const MAX_CACHED = 10_000;
/** Positions that are requested within this time go into one request to the scheduler. */
const BATCH_WITHIN_MS = 3;

/** Requests the positions from the scheduler in batches, and keeps each for a second. */
export const queuePositions = ({ scheduler, clock }: QueuePositionsOptions): QueuePositions => {
  const loader = new DataLoader<RunKey, QueuePosition | undefined, string>(
    (keys) => scheduler.queuePositions(keys),
    {
      maxBatchSize: MAX_REQUESTED_POSITIONS,
      batchScheduleFn: (send) => setTimeout(send, BATCH_WITHIN_MS),
      cacheKeyFn: runName,
      cacheMap: new LRUCache<string, Promise<QueuePosition | undefined>>({
        max: MAX_CACHED,
        ttl: CACHED_MS,
        ttlResolution: 0,
        perf: { now: clock },
      }),
    },
  );
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
