import { closedLoop, endedRuns, QUEUE, queueBody, queueRuns } from '../load.ts';
import type { Deployments } from '../system/deployments.ts';
import type { Api, MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';
import { readEnded } from './reads.ts';
import { steadyRate } from './steady-rate.ts';
import { throughput } from './throughput.ts';

/** Whose runs are queued. */
export interface Client extends Pick<Api, 'key'> {
  readonly deployments: Deployments;
}

/** How long a short round takes. */
export interface ShortSize {
  /** A process that has just been started executes its first runs more slowly. */
  readonly warmUpRuns: number;
  readonly warmUpRunsOfExecutor: number;
  readonly runs: number;
  /** Of each loop. */
  readonly seconds: number;
}

const ASK_EVERY_MS = 20;

/** The figures that change with what is stored, or with a setting. */
export const shortRound = async (
  system: MeasuredStandalone,
  clients: readonly Client[],
  { warmUpRuns, warmUpRunsOfExecutor, runs, seconds }: ShortSize,
): Promise<Readings> => {
  const warmUp = Math.max(warmUpRuns, system.executors * warmUpRunsOfExecutor);
  const { ids } = await queueRuns(system, system.deployments.executed, warmUp);
  await endedRuns(system, ids, ASK_EVERY_MS);
  const steady = await steadyRate(system, seconds);
  const { readings, ended } = await throughput(system, runs);
  const read = await readEnded(system, ended, seconds);
  const accept = await closedLoop(
    system,
    {
      paths: [QUEUE],
      bodies: clients.map(({ deployments }) => queueBody(deployments.waiting)),
      keys: clients.map(({ key }) => key),
    },
    { seconds },
  );
  return {
    start: system.startSeconds,
    ...steady,
    ...readings,
    ...read,
    'accept.off': accept.perSecond,
    'accept.off.p50': accept.p50,
    'accept.off.p99': accept.p99,
  };
};
