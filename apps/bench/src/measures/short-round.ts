import { closedLoop } from '../load/closed-loop.ts';
import { endedRuns } from '../load/ended-run.ts';
import { QUEUE, queueBody, queueRuns } from '../load/queue-runs.ts';
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

const ASK_EVERY_MS = 20;
/** A process that has just been started executes its first runs more slowly. */
const WARM_UP_RUNS = 400;
const WARM_UP_RUNS_OF_EXECUTOR = 250;
const RUNS = 1_000;
const SECONDS = 3;

/** The figures that change with what is stored, or with a setting: half a minute. */
export const shortRound = async (
  system: MeasuredStandalone,
  clients: readonly Client[],
): Promise<Readings> => {
  const warmUp = Math.max(WARM_UP_RUNS, system.executors * WARM_UP_RUNS_OF_EXECUTOR);
  const { ids } = await queueRuns(system, system.deployments.executed, warmUp);
  await endedRuns(system, ids, ASK_EVERY_MS);
  const steady = await steadyRate(system, SECONDS);
  const { readings, ended } = await throughput(system, RUNS);
  const read = await readEnded(system, ended, SECONDS);
  const accept = await closedLoop(
    system,
    {
      paths: [QUEUE],
      bodies: clients.map(({ deployments }) => queueBody(deployments.waiting)),
      keys: clients.map(({ key }) => key),
    },
    { seconds: SECONDS },
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
