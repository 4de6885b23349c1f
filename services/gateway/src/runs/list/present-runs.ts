import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import pLimit from 'p-limit';
import type { RunView } from '../../projection/core/run-view.ts';
import type { ReadCurrentRun } from '../current/current-run.ts';

export interface PresentRunsOptions {
  readonly log: Pick<EventLog, 'connected'>;
  readonly current: ReadCurrentRun;
}

/** The runs of a page as the log has them, without those that were deleted. As they are viewed, while the log is unavailable. */
export type PresentRuns = (viewed: readonly RunView[]) => Promise<RunView[]>;

const MAX_CONCURRENT = 16;

/**
 * For a page of views that are behind. A list may lack the newest runs then, but it shows no run and no outputs after their deletion
 * was answered.
 */
export const presentRuns =
  ({ log, current }: PresentRunsOptions): PresentRuns =>
  async (viewed) => {
    const reading = { isPossible: log.connected() };
    const present = async (view: RunView): Promise<RunView[]> => {
      if (!reading.isPossible) return [view];
      try {
        const { org_id, run_id } = view.run;
        const now = await current({ org_id, run_id });
        if (now.kind === 'deleted') return [];
        return now.kind === 'found' ? [now] : [view];
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        // Each further read would wait for it.
        reading.isPossible = false;
        return [view];
      }
    };
    return (await pLimit(MAX_CONCURRENT).map(viewed, present)).flat();
  };
