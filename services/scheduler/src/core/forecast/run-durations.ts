import { timeOf } from '../rows/time-text.ts';
import { isDeleted, isEnded, isExecuting, type RunState } from '@runledger/contracts/fold/run';
import type { KnownRun } from '../runs/known-run.ts';
import type { DurationEstimate, Durations } from './durations.ts';

interface KnownDurations {
  readonly durations: Durations;
}

/** The statistics that a run belongs to, the most like it first. */
const namesOf = ({
  run: { request },
  requirements,
  slot,
}: Pick<KnownRun, 'run' | 'requirements' | 'slot'>): string[] => {
  const { gpu } = slot ?? requirements;
  return [`${gpu}/${request.workflow_version_id}`, `${gpu}/${request.deployment_id}`, gpu];
};

/** The run has ended: it held its slot from its assignment until now. */
export const addDuration = (
  { durations }: KnownDurations,
  before: KnownRun,
  after: RunState | undefined,
): void => {
  if (!isExecuting(before.run) || !after || isDeleted(after) || !isEnded(after)) return;
  const { assigned_at } = before.run.attempt;
  const heldMs = timeOf(after.ended_at) - timeOf(assigned_at);
  durations.add(namesOf(before), heldMs / 1_000);
};

export const durationOf = ({ durations }: KnownDurations, known: KnownRun): DurationEstimate | undefined =>
  durations.estimate(namesOf(known));

/** Of all runs of the GPU model, as they follow each other. */
export const durationOn = ({ durations }: KnownDurations, gpu: string): DurationEstimate | undefined =>
  durations.estimate([gpu]);
