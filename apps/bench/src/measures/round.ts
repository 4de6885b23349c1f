import { closedLoop, endedRuns, queueRuns } from '../load.ts';
import {
  startStandalone,
  type MeasuredStandalone,
  type StandaloneRequest,
} from '../system/measured-standalone.ts';
import { acceptAlone, acceptAtWork, type Client } from './accepting.ts';
import { commands } from './commands.ts';
import type { Readings } from './figures.ts';
import { restarts } from './restarts.ts';
import { steadyRate } from './steady-rate.ts';
import { holdStreams } from './streams.ts';
import { throughput } from './throughput.ts';

/** How long a round takes. */
export interface Size {
  /** Of each closed loop. */
  readonly closedSeconds: number;
  readonly steadySeconds: number;
  /** A process that has just been started executes its first runs more slowly. */
  readonly warmUpRuns: number;
  readonly runs: number;
  readonly streams: number;
}

/** GET asks for so many runs in turns. */
const READ_RUNS = 1_000;

/** Everything on a standalone that has just been started, from what disturbs least to what leaves most behind. */
export const measureRound = async (request: StandaloneRequest, size: Size): Promise<Readings> => {
  await using system = await startStandalone(request);
  const restarted = await restarts(system);
  const { readings, ended } = await executeRuns(system, size);
  const commanded = await commands(system, ended[0] ?? '');
  const { ids: live } = await queueRuns(system, system.deployments.waiting, size.streams);
  const { perSecond } = await closedLoop(system, readsOf(live), { seconds: size.closedSeconds });
  return {
    ...restarted,
    ...readings,
    ...commanded,
    'get.live': perSecond,
    ...(await holdStreams(system, live)),
    ...(await acceptAlone(system, [system], size.closedSeconds)),
    ...(await acceptAtWork(system, size.closedSeconds)),
  };
};

/** The figures that change with what is stored, or with a setting. */
export const shortRound = async (
  system: MeasuredStandalone,
  clients: readonly Client[],
  size: Omit<Size, 'streams'>,
): Promise<Readings> => ({
  ...(await executeRuns(system, size)).readings,
  ...(await acceptAlone(system, clients, size.closedSeconds)),
});

const executeRuns = async (
  system: MeasuredStandalone,
  { warmUpRuns, steadySeconds, runs, closedSeconds: seconds }: Omit<Size, 'streams'>,
): Promise<{ readonly readings: Readings; readonly ended: readonly string[] }> => {
  const { ids } = await queueRuns(system, system.deployments.executed, warmUpRuns);
  await endedRuns(system, ids);
  const steady = await steadyRate(system, steadySeconds);
  const { readings, ended } = await throughput(system, runs);
  const { perSecond, p50, p99 } = await closedLoop(system, readsOf(ended), { seconds });
  const read = { 'get.ended': perSecond, 'get.ended.p50': p50, 'get.ended.p99': p99 };
  return { readings: { start: system.startSeconds, ...steady, ...readings, ...read }, ended };
};

const readsOf = (ids: readonly string[]): { readonly paths: readonly string[] } => ({
  paths: ids.slice(0, READ_RUNS).map((id) => `/run/${id}`),
});
