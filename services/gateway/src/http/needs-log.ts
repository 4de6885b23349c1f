import type { EventLog } from '@runledger/event-log/event-log';
import type { Middleware } from 'koa';
import { Refused } from './problem.ts';

const PATIENCE_MS = 3_000;

/**
 * While the log is away, a request waits for it before it begins anything: a broker that restarts takes a second. When an
 * outage has lasted longer than the patience, every request is refused at once, and nothing of it was done. So
 * requests do not pile up behind asks that wait for the broker much longer; only what was in hand when it went away may.
 * Nothing that needs an API key gets past: without the log nobody knows whether the key is still good.
 */
export const needsLog = (
  log: Pick<EventLog, 'connected' | 'onReconnect'>,
  patienceMs = PATIENCE_MS,
): Middleware => {
  /** Of the present outage: true once it is over, false when it has lasted too long. */
  let outage: Promise<boolean> | undefined;
  const begin = (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), patienceMs).unref();
    const forget = log.onReconnect(() => {
      forget();
      clearTimeout(timer);
      outage = undefined;
      resolve(true);
    });
    return promise;
  };
  return async (_ctx, next) => {
    if (!log.connected() && !(await (outage ??= begin()))) {
      throw new Refused({
        kind: 'unavailable',
        why: 'The log of runs cannot be reached now. Nothing was done; try again',
      });
    }
    await next();
  };
};
