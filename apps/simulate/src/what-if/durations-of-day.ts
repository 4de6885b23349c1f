import { gpuOf, isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { quantile } from '@runledger/testing/measuring/quantile';

export interface Duration {
  readonly loadMs: number;
  readonly durationMs: number;
}

/** Alike are runs of a deployment on one GPU model. */
const keyOf = (run: Run): string => `${run.request.deployment_id} ${gpuOf(run)}`;

const isWarm = ({ attempt }: Run): boolean => attempt?.placement?.choice === 'warm';

/**
 * How long each run loads and executes. Nobody knows it of one that had not started, was cancelled or had not ended: it is the median of its
 * deployment on that GPU model, and not less than what was seen. A run that was warm would have loaded as long as others of it if it were not.
 */
export const durationsOf = (runs: readonly Run[], toMs: number): ((run: Run) => Duration) => {
  const seen = (run: Run): Duration | undefined => {
    const startedAt = isEnded(run) || (isExecuting(run) && run.status !== 'started') ? run.started_at : null;
    if (startedAt === null || run.attempt === null) return undefined;
    const [assignedMs, startedMs] = [Date.parse(run.attempt.assigned_at), Date.parse(startedAt)];
    const endMs = isEnded(run) ? Date.parse(run.ended_at) : toMs;
    return { loadMs: Math.max(0, startedMs - assignedMs), durationMs: Math.max(0, endMs - startedMs) };
  };
  const whole = runs.filter((run) => isEnded(run) && run.status !== 'cancelled');
  const medians = new Map(
    [...Map.groupBy(whole, keyOf)].map(([key, of]) => {
      const median = (some: readonly Run[], part: keyof Duration): number =>
        quantile(
          some.flatMap((run) => seen(run)?.[part] ?? []),
          0.5,
        );
      const cold = of.filter((run) => !isWarm(run));
      return [key, { loadMs: median(cold, 'loadMs'), durationMs: median(of, 'durationMs') }] as const;
    }),
  );
  return (run) => {
    const own = seen(run);
    const median = medians.get(keyOf(run)) ?? { loadMs: 0, durationMs: 0 };
    const loadMs = own && !isWarm(run) ? own.loadMs : median.loadMs;
    if (own && isEnded(run) && run.status !== 'cancelled') return { loadMs, durationMs: own.durationMs };
    return { loadMs, durationMs: Math.max(own?.durationMs ?? 0, median.durationMs) };
  };
};
