import type { RunId } from '@runledger/contracts/ids';
import pLimit from 'p-limit';
import type { RunView } from '../../projection/core/run-view.ts';
import { saysAll, type ReadPastRun } from './past-run.ts';

interface PastRuns {
  readonly known: readonly RunView[];
  /** Those that existed then, and of which neither the log nor the archive has the facts any more. */
  readonly unknown: readonly RunId[];
}

/** The runs of a page as they were at a time, in milliseconds since 1970. @throws {LogUnavailable} @throws {ArchiveUnavailable} */
export type ReadPastRuns = (viewed: readonly RunView[], time: number) => Promise<PastRuns>;

const MAX_CONCURRENT = 16;

/** Most runs of a page have ended before, or are as they were: their views say it. */
export const pastRuns =
  (past: ReadPastRun): ReadPastRuns =>
  async (viewed, time) => {
    const unknown: RunId[] = [];
    const read = async (view: RunView): Promise<RunView[]> => {
      if (saysAll(view, { time })) return [view];
      const { org_id, run_id } = view.run;
      const then = await past({ org_id, run_id }, { time });
      switch (then.kind) {
        case 'found':
          return [then];
        case 'forgotten':
        case 'unreadable':
        case 'views_unavailable':
          unknown.push(run_id);
          return [];
        case 'none':
        case 'deleted':
        case 'not_yet':
          return [];
      }
    };
    const known = (await pLimit(MAX_CONCURRENT).map(viewed, read)).flat();
    return { known, unknown };
  };
