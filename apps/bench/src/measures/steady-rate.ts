import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '@runledger/testing/measuring';
import { endedRun, QUEUE, queueBody } from '../load.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';

export const RUNS_PER_SECOND = 100;
/** Of all runs one in so many is asked for until its end is visible, so often. */
const ASKED = 4;
const ASK_EVERY_MS = 5;

/** An open loop: 100 runs a second, whatever becomes of the runs before. */
export const steadyRate = async (system: MeasuredStandalone, seconds: number): Promise<Readings> => {
  const toStart: number[] = [];
  const toEnd: number[] = [];
  const one = async (n: number): Promise<void> => {
    const began = performance.now();
    const { run_id } = await system.call(QUEUE, queueBody(system.deployments.executed));
    if (n % ASKED !== 0) return;
    const run = await endedRun(system, String(run_id), ASK_EVERY_MS);
    toEnd.push(performance.now() - began);
    toStart.push(Date.parse(String(run['started_at'])) - Date.parse(String(run['queued_at'])));
  };
  const began = performance.now();
  const all: Promise<void>[] = [];
  for (let n = 0; n < RUNS_PER_SECOND * seconds; n += 1) {
    all.push(one(n));
    const next = began + ((n + 1) * 1_000) / RUNS_PER_SECOND;
    await pause(Math.max(next - performance.now(), 1));
  }
  await Promise.all(all);
  return {
    'started.p50': quantile(toStart, 0.5),
    'started.p99': quantile(toStart, 0.99),
    'visible.p50': quantile(toEnd, 0.5),
    'visible.p99': quantile(toEnd, 0.99),
  };
};
