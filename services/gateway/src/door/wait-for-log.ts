import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Refused } from './refusal.ts';

/** Resolves at once while the log is connected. @throws {Refused} with 503 when an outage lasts too long */
export type WaitForLog = () => Promise<void>;

/** How long a request waits. */
export const WAIT_FOR_LOG_MS = 3_000;

/**
 * While the log is unavailable, a request waits here before it begins: a broker needs a second to restart. Once an outage
 * has lasted for `withinMs`, each request is refused at once, so that requests do not pile up.
 */
export const waitForLog = (
  log: Pick<EventLog, 'connected' | 'onReconnect'>,
  withinMs: number,
): WaitForLog => {
  /** Of the present outage: true once it is over, false when it has lasted too long. */
  let outage: Promise<boolean> | undefined;
  const begin = (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), withinMs).unref();
    const forget = log.onReconnect(() => {
      forget();
      clearTimeout(timer);
      outage = undefined;
      resolve(true);
    });
    return promise;
  };
  return async () => {
    if (log.connected() || (await (outage ??= begin()))) return;
    throw new Refused({
      code: 'log_unavailable',
      why: 'The log of runs cannot be reached now. Nothing was done; try again',
    });
  };
};
