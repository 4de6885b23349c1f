import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { RunFactEvent } from '@runledger/contracts/http/runs/run-events';
import { liveStatus } from '@runledger/contracts/run-view/live-status';
import { isEnded, type RunFact, type Run } from '@runledger/contracts/fold/run';
import { missingOutputs } from '@runledger/contracts/run-view/missing-outputs';
import { shownEnd } from '@runledger/contracts/run-view/shown-end';
import { shownOutputs, type OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunView } from '../../../projection/core/run-view.ts';

/** What the last event of a run shows besides the run. */
export interface ShownEnd {
  readonly outputUrl: OutputUrl;
  /** What is lost of its outputs. */
  readonly lost: readonly MissingMember[];
}

/** The event of a fact; `run` is the run right after it. */
export const runFactEvent = (
  { event, sequence, time }: RunFact,
  run: Run,
  shown: ShownEnd,
): RunFactEvent => ({
  sequence,
  type: event.type,
  time,
  attempt: event.attempt,
  ...situation(run, shown),
});

/** The only event of a run whose events have expired: its last state. */
export const lastStateEvent = ({ head, run }: RunView, shown: ShownEnd): RunFactEvent => ({
  sequence: head,
  type: null,
  time: run.updated_at,
  attempt: run.attempt?.number ?? 0,
  ...situation(run, shown),
});

type Situation = Omit<RunFactEvent, 'sequence' | 'type' | 'time' | 'attempt'>;

const situation = (run: Run, { outputUrl, lost }: ShownEnd): Situation => {
  const { status } = run;
  const end = shownEnd(run);
  if (!isEnded(run)) {
    return { status, live_status: liveStatus(run, null), progress: 0, ...end };
  }
  const missing = missingOutputs(run, lost);
  return {
    status,
    live_status: null,
    progress: run.progress,
    ...end,
    outputs: shownOutputs(run, outputUrl),
    ...(missing.length === 0 ? {} : { missing_members: [...missing] }),
  };
};
