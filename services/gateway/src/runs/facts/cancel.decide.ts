import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { EnvelopeForRun } from './envelope.ts';

export interface CancelAnswer {
  readonly status: Run['status'];
  readonly outcome: 'cancelled' | 'cancellation_requested' | 'already_ended';
}

export type CancelDecision =
  /** The answer holds once the event is stored at the head that was decided on. */
  | {
      readonly kind: 'append';
      readonly event: RunEventOf<'RunCancelRequested'>;
      readonly answer: CancelAnswer;
    }
  | { readonly kind: 'nothing_to_do'; readonly answer: CancelAnswer };

/** A queued run ends at once. A run that executes is asked to stop. A second request, or one after the end, changes nothing. */
export const requestCancel = (
  run: Run,
  by: { readonly user_id: string },
  envelope: EnvelopeForRun,
): CancelDecision => {
  if (isEnded(run)) {
    const outcome = run.status === 'cancelled' ? 'cancelled' : 'already_ended';
    return { kind: 'nothing_to_do', answer: { status: run.status, outcome } };
  }
  if (run.status === 'queued') {
    return {
      kind: 'append',
      event: cancelRequested(run, run.attempt?.number ?? 0, null, by, envelope),
      answer: { status: 'cancelled', outcome: 'cancelled' },
    };
  }
  const answer = { status: run.status, outcome: 'cancellation_requested' } as const;
  if (run.cancel) return { kind: 'nothing_to_do', answer };
  const { number, executor_id } = run.attempt;
  return { kind: 'append', event: cancelRequested(run, number, executor_id, by, envelope), answer };
};

const cancelRequested = (
  run: Run,
  attempt: number,
  executor_id: string | null,
  { user_id }: { readonly user_id: string },
  envelope: EnvelopeForRun,
): RunEventOf<'RunCancelRequested'> => ({
  ...envelope,
  type: 'RunCancelRequested',
  version: 1,
  correlation_id: run.correlation_id,
  causation_id: null,
  attempt,
  executor_id,
  data: { by: 'client', user_id },
});
