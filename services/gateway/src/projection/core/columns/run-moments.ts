/* oxlint-disable no-restricted-globals -- it parses times; it does not read the clock */
import { isEnded, type Run } from '@runledger/contracts/fold/run';

/** The broker's times of what every run does once, in milliseconds since 1970; null for what has not come. */
export interface RunMoments {
  readonly created_ms: number | null;
  /** When it began to execute, in the first attempt that did. */
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
}

export const NO_MOMENTS: RunMoments = { created_ms: null, started_ms: null, ended_ms: null };

export const momentsOf = (run: Run): RunMoments => {
  const earlier = run.earlier_attempts.find(({ started_at }) => started_at !== null);
  return {
    created_ms: Date.parse(run.created_at),
    started_ms: msOf(earlier?.started_at ?? ('started_at' in run ? run.started_at : null)),
    ended_ms: msOf(isEnded(run) ? run.ended_at : null),
  };
};

const msOf = (time: string | null): number | null => (time === null ? null : Date.parse(time));
