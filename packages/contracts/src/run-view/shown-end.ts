import { isEnded, type Run } from '../fold/run.ts';
import type { WorkflowRun } from '../http/runs/run.ts';

/** The end of a run, as every response, event and notification shows it. */
export const shownEnd = (run: Run): Pick<WorkflowRun, 'finished' | 'end_reason' | 'error'> =>
  isEnded(run)
    ? { finished: true, end_reason: run.end_reason, error: run.error }
    : { finished: false, end_reason: null, error: null };
