import { waitFor } from '@runledger/testing/wait-for';
import { SERVICES, type MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';

const ASK_EVERY_MS = 5;

/**
 * From the start of a process of each service until `/readyz` answers 200, one service after the other. Each is stopped, and the standalone
 * starts it again after half a second.
 */
export const restarts = async (system: MeasuredStandalone): Promise<Readings> => {
  const readings: Record<string, number> = {};
  for (const service of SERVICES) readings[`ready.${service}`] = await readyAgain(system, service);
  return readings;
};

const readyAgain = async ({ serviceProcess }: MeasuredStandalone, service: string): Promise<number> => {
  const before = serviceProcess(service);
  if (before === undefined) throw new Error(`no ${service} runs`);
  process.kill(before.pid, 'SIGTERM');
  const polled = { everyMs: ASK_EVERY_MS };
  const isStarted = (): boolean => ![undefined, before.pid].includes(serviceProcess(service)?.pid);
  await waitFor(`another ${service} to start`, isStarted, polled);
  const began = performance.now();
  // The standalone gives it the same port.
  const isReady = async (): Promise<boolean> => (await fetch(new URL('/readyz', before.health))).ok;
  await waitFor(`the ${service} to be ready`, isReady, polled);
  return performance.now() - began;
};
