import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { liveStatus } from '@runledger/contracts/run-view/live-status';
import { isEnded, type RunFact, type Run } from '@runledger/contracts/fold/run';
import { shownOutputs } from '@runledger/contracts/run-view/shown-outputs';
import type { RunView } from '../../../projection/core/run-view.ts';

/** What a watcher is told of a fact: `run` is what it was once that had happened. */
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

/** What is left of a run whose events have expired: its last state. */
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
