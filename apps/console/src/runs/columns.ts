import type { Schemas } from '../api/schemas.ts';

interface Column {
  readonly title: string;
  /** The custom property of its colour. */
  readonly colour: string;
  /** The pattern of its line, so that no colour has to be told from another. */
  readonly dash: readonly number[];
  readonly values: readonly number[];
}

/** What a chart shows of runs: one value for each interval. */
export const columnsOf = (activity: Schemas['RunActivity']): readonly Column[] => {
  const { queued, started, succeeded, failed, timed_out, cancelled, waiting, running } = activity;
  const ended = succeeded.map(
    (value, row) => value + (failed[row] ?? 0) + (timed_out[row] ?? 0) + (cancelled[row] ?? 0),
  );
  const unsuccessful = failed.map((value, row) => value + (timed_out[row] ?? 0));
  return [
    { title: 'arrived', colour: '--accent', dash: [], values: queued },
    { title: 'started', colour: '--accent', dash: [6, 4], values: started },
    { title: 'ended', colour: '--good', dash: [], values: ended },
    { title: 'failed or timed out', colour: '--bad', dash: [], values: unsuccessful },
    { title: 'waiting', colour: '--warm', dash: [2, 3], values: waiting },
    { title: 'running', colour: '--quiet', dash: [8, 3, 2, 3], values: running },
  ];
};
