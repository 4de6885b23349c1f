import { closedLoop } from '../load.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';

const pathsOf = (ids: readonly string[]): string[] => ids.map((id) => `/run/${id}`);

/** GET of runs that have ended. */
export const readEnded = async (
  system: MeasuredStandalone,
  ids: readonly string[],
  seconds: number,
): Promise<Readings> => {
  const { perSecond, p50, p99 } = await closedLoop(system, { paths: pathsOf(ids) }, { seconds });
  return { 'get.ended': perSecond, 'get.ended.p50': p50, 'get.ended.p99': p99 };
};

/** GET of runs that wait. */
export const readLive = async (
  system: MeasuredStandalone,
  ids: readonly string[],
  seconds: number,
): Promise<Readings> => ({
  'get.live': (await closedLoop(system, { paths: pathsOf(ids) }, { seconds })).perSecond,
});
