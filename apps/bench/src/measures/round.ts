import { endedRuns, queueRuns } from '../load.ts';
import { startStandalone, type StandaloneRequest } from '../system/measured-standalone.ts';
import { acceptAlone, acceptAtWork } from './accepting.ts';
import { commands } from './commands.ts';
import type { Readings } from './figures.ts';
import { readEnded, readLive } from './reads.ts';
import { restarts } from './restarts.ts';
import { steadyRate } from './steady-rate.ts';
import { holdStreams } from './streams.ts';
import { throughput } from './throughput.ts';

/** How long a round takes. */
export interface Size {
  /** Of each closed loop. */
  readonly closedSeconds: number;
  readonly steadySeconds: number;
  readonly runs: number;
  readonly streams: number;
}

const ASK_EVERY_MS = 20;
/** GET asks for so many runs in turns. */
const READ_RUNS = 1_000;

/** Everything on a standalone that has just been started, from what disturbs least to what leaves most behind. */
export const measureRound = async (request: StandaloneRequest, size: Size): Promise<Readings> => {
  await using system = await startStandalone(request);
  const restarted = await restarts(system);
  const { executed, waiting } = system.deployments;
  const warmUp = await queueRuns(system, executed, Math.ceil(size.runs / 5));
  await endedRuns(system, warmUp.ids, ASK_EVERY_MS);
  const commanded = await commands(system, warmUp.ids[0] ?? '');
  const steady = await steadyRate(system, size.steadySeconds);
  const { readings, ended } = await throughput(system, size.runs);
  const read = await readEnded(system, ended.slice(0, READ_RUNS), size.closedSeconds);
  const live = (await queueRuns(system, waiting, size.streams)).ids;
  return {
    start: system.startSeconds,
    ...restarted,
    ...commanded,
    ...steady,
    ...readings,
    ...read,
    ...(await readLive(system, live.slice(0, READ_RUNS), size.closedSeconds)),
    ...(await holdStreams(system, live)),
    ...(await acceptAlone(system, size.closedSeconds)),
    ...(await acceptAtWork(system, size.closedSeconds)),
  };
};
