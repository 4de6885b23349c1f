import { Durations, type DurationEstimate } from '@runledger/scheduler/core/durations';
import { forecast, type Forecast, type Line } from '@runledger/scheduler/core/forecast';
import type { PlayedRun } from '../statistics.ts';

/** When a waiting run was expected to start, and when it started, in seconds from then. */
export interface ForeseenStart extends Forecast {
  readonly started: number;
}

interface Seen {
  readonly atMs: number;
  /** That the deployment may hold. */
  readonly slots: number;
  /** They are fewer than those of its GPU model. */
  readonly isLimit: boolean;
}

/** Of the runs of one deployment that wait at a time, in their order: what the scheduler tells about them then. */
export const foreseenStarts = (
  runs: readonly PlayedRun[],
  { atMs, slots, isLimit }: Seen,
): ForeseenStart[] => {
  const estimate = estimateOf(runs.filter(({ endedMs }) => endedMs <= atMs));
  const occupied = runs.flatMap(({ assignedMs, endedMs }) =>
    assignedMs !== null && assignedMs <= atMs && endedMs > atMs
      ? [{ elapsedS: (atMs - assignedMs) / 1_000, estimate }]
      : [],
  );
  const starts = runs
    .flatMap(({ queuedMs, assignedMs }) =>
      queuedMs <= atMs && assignedMs !== null && assignedMs > atMs ? [assignedMs] : [],
    )
    .toSorted((a, b) => a - b);
  return starts.map((started, ahead) => {
    const line: Line = { ahead, ownAhead: ahead, undecided: 0, occupied, slots, estimate };
    const told = forecast(
      isLimit ? { pool: null, limits: [{ ...line, aheadOfFirst: 0 }] } : { pool: line, limits: [] },
    );
    return { ...told, started: (started - atMs) / 1_000 };
  });
};

export const isForeseen = ({ started, earliest, latest }: ForeseenStart): boolean =>
  started >= earliest && started <= latest;

const estimateOf = (ended: readonly PlayedRun[]): DurationEstimate => {
  const durations = new Durations();
  for (const { gpu, assignedMs, endedMs } of ended)
    if (assignedMs !== null) durations.add([gpu], (endedMs - assignedMs) / 1_000);
  const estimate = durations.estimate(ended.map(({ gpu }) => gpu));
  if (!estimate) throw new Error('too few runs have ended');
  return estimate;
};
