import { placementWords, type Placement } from '../events/placement.ts';
import { endReasonOf } from '../events/run-error.ts';
import { isEnded, type Run } from '../fold/run.ts';
import type { RunAttempt } from '../http/runs/run-attempt.ts';
import { executorName } from '../ids.ts';

/** Null when the fact of the assignment does not say it. */
export const shownPlacement = (placement: Placement | undefined): RunAttempt['placement'] =>
  placement
    ? {
        candidates: placement.candidates,
        choice: placement.choice,
        gpu_index: placement.gpu_index ?? null,
        waited_s: placement.waited_s,
        warm_wait_s: placement.warm_wait_s ?? null,
        held_back_by: placement.held_back_by ?? null,
        sentence: placementWords(placement),
      }
    : null;

/** The attempts of a run from the first to the present or last one. */
export const shownAttempts = (run: Run): RunAttempt[] => {
  const earlier = run.earlier_attempts.map(
    ({ number, executor_id, gpu, placement, started_at, ended_at, error }) => ({
      number,
      executor: executorName(executor_id),
      gpu: gpu ?? run.request.gpu,
      placement: shownPlacement(placement),
      started_at,
      ended_at,
      end_reason: endReasonOf(error.kind),
      error,
    }),
  );
  // The attempt of a run that is queued again is one of them.
  if (!run.attempt || earlier.at(-1)?.number === run.attempt.number) return earlier;
  const { number, executor_id, gpu = run.request.gpu } = run.attempt;
  const placement = shownPlacement(run.attempt.placement);
  const started_at = 'started_at' in run ? run.started_at : null;
  const end = isEnded(run)
    ? { ended_at: run.ended_at, end_reason: run.end_reason, error: run.error }
    : { ended_at: null, end_reason: null, error: null };
  return [...earlier, { number, executor: executorName(executor_id), gpu, placement, started_at, ...end }];
};
