import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop, warmUp, QUEUE, queueBody } from '../load.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';
import { usedSince } from './used-since.ts';

/** What follows an answer, such as the views, is processor time of its request too. */
const SETTLE_MS = 1_000;

/** Runs that wait: nothing executes meanwhile. */
export const acceptAlone = async (system: MeasuredStandalone, seconds: number): Promise<Readings> => {
  const requests = { paths: [QUEUE], bodies: [queueBody(system.deployments.waiting)] };
  await warmUp(system, requests, seconds);
  const used = usedSince(system);
  const { perSecond, p50, p99 } = await closedLoop(system, requests, { seconds });
  await pause(SETTLE_MS);
  return {
    'accept.off': perSecond,
    'accept.off.p50': p50,
    'accept.off.p99': p99,
    'accept.off.cpu': used().total / (perSecond * seconds),
  };
};

/** Runs that are executed at once. It leaves some that wait, so it comes last. */
export const acceptAtWork = async (system: MeasuredStandalone, seconds: number): Promise<Readings> => {
  const requests = { paths: [QUEUE], bodies: [queueBody(system.deployments.executed)] };
  const { perSecond, p50, p99 } = await closedLoop(system, requests, { seconds });
  return { 'accept.on': perSecond, 'accept.on.p50': p50, 'accept.on.p99': p99 };
};
