import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { queued, timedOut } from '@runledger/testing/run-events';
import type { Receivers } from './receivers.ts';
import { appendAll, runOfHost } from './runs.ts';

/** Runs of healthy receivers that end at a steady rate, each receiver with an organisation of its own. */
export interface SteadyStream {
  /** Of notifications of healthy receivers that were accepted. */
  arrived(run: string, at: number): void;
  /** How late the notifications were of runs that ended since the last call, in milliseconds. Waits for those under way. */
  lags(): Promise<number[]>;
  stop(): Promise<void>;
}

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const openSteadyStream = (
  log: EventLog,
  receivers: Receivers,
  of: { readonly hosts: number; readonly perSecond: number },
): SteadyStream => {
  const endedAt = new Map<string, number>();
  let lags: number[] = [];
  const stop = new AbortController();

  const endOne = async (n: number): Promise<void> => {
    const host = n % of.hosts;
    const key = runOfHost(host);
    const head = await appendAll(log, [queued(key, { webhook: receivers.url('healthy', host, key.run_id) })]);
    endedAt.set(key.run_id, nowMs());
    await appendAll(log, [timedOut(key, 'start_deadline')], head);
  };
  const endForever = async (): Promise<void> => {
    const began = nowMs();
    for (let n = 0; !stop.signal.aborted; n += 1) {
      await pause(Math.max(began + (n / of.perSecond) * 1_000 - nowMs(), 0));
      void endOne(n);
    }
  };
  const ending = endForever();
  return {
    arrived: (run, at) => {
      const since = endedAt.get(run);
      if (since === undefined) return;
      lags.push(at - since);
      endedAt.delete(run);
    },
    lags: async () => {
      const underWay = [...endedAt.keys()];
      while (underWay.some((run) => endedAt.has(run))) await pause(20);
      const taken = lags;
      lags = [];
      return taken;
    },
    stop: async () => {
      stop.abort();
      await ending;
    },
  };
};
