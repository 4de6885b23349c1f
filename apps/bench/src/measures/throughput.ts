import { setTimeout as pause } from 'node:timers/promises';
import { endedRuns, queueRuns } from '../load.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';
import { sum, usedSince } from './used-since.ts';

const SETTLE_MS = 1_500;

export interface Throughput {
  readonly readings: Readings;
  readonly ended: readonly string[];
}

/**
 * Queues so many runs as fast as is answered, waits for the last one, and reads each. From the first request to the last end; processor time
 * and bytes with all that follows.
 */
export const throughput = async (system: MeasuredStandalone, runs: number): Promise<Throughput> => {
  const disk = system.bytesOnDisk();
  const used = usedSince(system);
  const began = Date.now();
  const { ids } = await queueRuns(system, system.deployments.executed, runs);
  // Only a few are asked for before all have ended.
  await endedRuns(system, ids.slice(-system.slots));
  const ended = await endedRuns(system, ids);
  const ends = ended.map((run) => Date.parse(String(run['ended_at'])));
  const seconds = (Math.max(...ends) - began) / 1_000;
  await pause(SETTLE_MS);
  const { total, byProcess } = used();
  const memory = system.memory();
  return {
    ended: ids,
    readings: {
      runs: runs / seconds,
      disk: (system.bytesOnDisk() - disk) / runs,
      cpu: total / runs,
      ...named('cpu', byProcess, runs),
      memory: sum(memory.values()),
      ...named('memory', memory, 1),
    },
  };
};

const named = (prefix: string, byProcess: ReadonlyMap<string, number>, runs: number): Readings =>
  Object.fromEntries([...byProcess].map(([name, value]) => [`${prefix}.${name}`, value / runs]));
