import { instantOf } from '@runledger/contracts/run-view/instant';
import { isEnded, type Run } from '@runledger/contracts/fold/run';

export interface RunTimes {
  readonly created_at: string;
  readonly updated_at: string;
  readonly queued_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Durations in seconds, to the millisecond; null until they are known. */
  readonly duration: number | null;
  readonly cold_start_duration: number | null;
  readonly cold_start_duration_total: number | null;
  readonly run_duration: number | null;
}

/** Times are the broker's time stamps of the facts, never those of a service's clock. */
export const runTimes = (run: Run): RunTimes => {
  const { created_at, updated_at, queued_at } = run;
  const started_at = 'started_at' in run ? run.started_at : null;
  const ended_at = isEnded(run) ? run.ended_at : null;
  return {
    created_at,
    updated_at,
    queued_at,
    started_at,
    ended_at,
    duration: seconds(created_at, ended_at),
    cold_start_duration: 'cold_start_s' in run ? run.cold_start_s : null,
    cold_start_duration_total: seconds(created_at, started_at),
    run_duration: seconds(started_at, ended_at),
  };
};

const seconds = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : (instantOf(to) - instantOf(from)) / 1000;
