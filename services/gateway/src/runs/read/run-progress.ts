import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { ExecutorId } from '@runledger/contracts/ids';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';

/** The last report of an attempt; undefined when there is none, or when it cannot be read in time. */
export type ReadProgress = (
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
