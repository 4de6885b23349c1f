import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { liveStatus } from '@runledger/contracts/run-view/live-status';
import { isEnded, type RunFact, type Run } from '@runledger/contracts/fold/run';
import { shownOutputs } from '@runledger/contracts/run-view/shown-outputs';
import type { RunView } from '../../../projection/core/run-view.ts';

/** The event of a fact; `run` is the run right after it. */
export const runFactEvent = (
  { event, sequence, time }: RunFact,
  run: Run,
  publicUrl: string,
): RunFactEvent => ({
  sequence,
  type: event.type,
  time,
  attempt: event.attempt,
  ...situation(run, publicUrl),
});

/** The only event of a run whose events have expired: its last state. */
export const lastStateEvent = ({ head, run }: RunView, publicUrl: string): RunFactEvent => ({
  sequence: head,
  type: null,
  time: run.updated_at,
  attempt: run.attempt?.number ?? 0,
  ...situation(run, publicUrl),
});

type Situation = Omit<RunFactEvent, 'sequence' | 'type' | 'time' | 'attempt'>;

const situation = (run: Run, publicUrl: string): Situation => {
  const { status } = run;
  if (!isEnded(run)) {
    return { status, live_status: liveStatus(run, null), progress: 0, finished: false, end_reason: null };
  }
  return {
    status,
    live_status: null,
    progress: run.progress,
    finished: true,
    end_reason: run.end_reason,
    outputs: shownOutputs(run, publicUrl),
  };
};
