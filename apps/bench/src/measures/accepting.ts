import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop, warmUp, QUEUE, queueBody } from '../load.ts';
import type { Api, MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Deployments } from '../system/deployments.ts';
import type { Readings } from './figures.ts';
import { usedSince } from './used-since.ts';

/** Whose runs are queued. */
export interface Client extends Pick<Api, 'key'> {
  readonly deployments: Deployments;
}

/** What follows an answer, such as the views, is processor time of its request too. */
const SETTLE_MS = 1_000;

/** Runs that wait: nothing executes meanwhile. */
export const acceptAlone = async (
  system: MeasuredStandalone,
  clients: readonly Client[],
  seconds: number,
): Promise<Readings> => {
  const requests = {
    paths: [QUEUE],
    bodies: clients.map(({ deployments }) => queueBody(deployments.waiting)),
    keys: clients.map(({ key }) => key),
  };
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
