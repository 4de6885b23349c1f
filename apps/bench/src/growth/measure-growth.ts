import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop } from '../load/closed-loop.ts';
import { endedRuns } from '../load/ended-run.ts';
import { QUEUE, queueBody, queueRuns } from '../load/queue-runs.ts';
import type { Readings } from '../measures/figures.ts';
import { steadyRate } from '../measures/steady-rate.ts';
import { throughput } from '../measures/throughput.ts';
import { readEnded } from '../measures/reads.ts';
import { startStandalone, type StandaloneRequest } from '../system/measured-standalone.ts';
import type { Dimension } from './dimensions.ts';

const ASK_EVERY_MS = 20;
/** A process that has just been started executes its first runs more slowly. */
const WARM_UP_RUNS = 400;
const WARM_UP_RUNS_OF_EXECUTOR = 250;
const RUNS = 1_000;
const SECONDS = 3;
const SETTLE_MS = 2_000;

/** One size on a standalone of its own: how fast it is once it is as large as that. */
export const measureSize = async (
  request: StandaloneRequest,
  { fill, changes = () => ({}) }: Dimension,
  size: number,
): Promise<Readings> => {
  const changed = { ...request, ...changes(size) };
  await using system = await startStandalone(changed);
  const clients = await fill(system, size);
  await pause(SETTLE_MS);
  const warmUp = Math.max(WARM_UP_RUNS, changed.executors * WARM_UP_RUNS_OF_EXECUTOR);
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
  return { ...steady, ...readings, ...read, 'accept.off': accept.perSecond };
};
