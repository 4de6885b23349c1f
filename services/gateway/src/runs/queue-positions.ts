import DataLoader from 'dataloader';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { RunId } from '@runledger/contracts/ids';
import { MAX_REQUESTED_POSITIONS, type QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { ProgressReport } from '@runledger/contracts/events/progress';
import { isExecuting, type ExecutingRun, type Run } from '@runledger/contracts/fold/run';
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

type ReadProgress = (run: Run) => Promise<ProgressReport | undefined>;

const MAX_REMEMBERED = 10_000;

/**
 * The progress of the current attempt. It never shows less than before: the broker does not flush reports to disk, and may
 * lose the last ones when it restarts.
 */
export const runProgress = (
  /** The last report of its attempt; undefined when there is none, or when it cannot be read in time. */
  read: (run: ExecutingRun) => Promise<ProgressReport | undefined>,
): ReadProgress => {
  const seen = new LRUCache<string, ProgressReport>(atMost(MAX_REMEMBERED));
  return async (run) => {
    if (!isExecuting(run)) return undefined;
    const name = `${run.run_id}.${run.attempt.number}`;
    const before = seen.get(name);
    const now = await read(run);
    const latest = now && now.progress >= (before?.progress ?? 0) ? now : before;
    if (latest) seen.set(name, latest);
    return latest;
  };
};

/** What no fact says of a run: how far its attempt is, and its queue position. Undefined while unknown, and for runs in other states. */
export interface LiveState {
  readonly report: { readonly progress: number; readonly live_status: string | null } | undefined;
  readonly position: QueuePosition | undefined;
}

export const readLive = async (
  { progress, positions }: { readonly progress: ReadProgress; readonly positions: QueuePositions },
  runs: readonly Run[],
): Promise<(run: Run) => LiveState> => {
  const queued = runs.filter(({ status }) => status === 'queued');
  const [reports, known] = await Promise.all([
    Promise.all(runs.map(async (run) => [run.run_id, await progress(run)] as const)),
    positions(queued.map(({ org_id, run_id }) => ({ org_id, run_id }))),
  ]);
  const reported = new Map(reports);
  return ({ run_id }) => ({ report: reported.get(run_id), position: known.get(run_id) });
};
