import { isEnded, type Run } from '../fold/run.ts';
import type { WorkflowRun } from '../http/runs/run.ts';
import { shownAttempts } from './shown-attempts.ts';

type ShownEnd = Pick<WorkflowRun, 'finished' | 'end_reason' | 'error' | 'warnings' | 'attempts'>;

/** How a run ended and what became of its attempts, as every response, event and notification shows it. */
export const shownEnd = (run: Run): ShownEnd => {
  const attempts = shownAttempts(run);
  return isEnded(run)
    ? {
        finished: true,
        end_reason: run.end_reason,
        error: run.error,
        warnings: [...(run.warnings ?? [])],
        attempts,
      }
    : { finished: false, end_reason: null, error: null, warnings: [], attempts };
};
