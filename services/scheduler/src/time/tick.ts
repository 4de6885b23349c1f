import type { EventLog } from '@runledger/event-log/connect/event-log';
import { sleep } from '@runledger/resilience/abort';
import type { EstimatedClock } from './estimated-clock.ts';
import type { SchedulerInput } from '../core/scheduler-input.ts';

export interface TickOptions {
  readonly clock: EstimatedClock;
  readonly everyMs: number;
  readonly take: (input: SchedulerInput) => void;
}

/** A broker that answers later than this may hold beats back as well. */
const SLOW_MS = 1_000;

/**
 * Ticks until the signal is aborted, each time behind a round trip: what the broker sent before it has arrived, and the
 * broker tells its time. While it does not answer there are no ticks, and silence says nothing.
 */
export const tickUntilAborted = async (
  log: EventLog,
  { clock, everyMs, take }: TickOptions,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const asked = performance.now();
    const brokerMs = log.connected() ? await brokerTime(log) : undefined;
    const connectedMs = performance.now();
    if (signal.aborted) return;
    if (brokerMs === undefined || connectedMs - asked > SLOW_MS) {
      take({ type: 'reset_heartbeats', because: 'slow_round_trip', connectedMs });
    }
    if (brokerMs !== undefined) {
      clock.sample(brokerMs, connectedMs);
      const now = clock.at(connectedMs);
      if (now !== undefined) take({ type: 'tick', now, connectedMs });
    }
    await sleep(everyMs, signal);
  }
};

/** The broker's time in milliseconds since 1970; undefined when it does not answer. */
const brokerTime = async (log: EventLog): Promise<number | undefined> => {
  try {
    const info: object = await log.jsm.streams.info('FLEET');
    // In the broker's answer since nats-server 2.10, but not in the driver's types.
    return 'ts' in info && typeof info.ts === 'string' ? Date.parse(info.ts) : Number.NaN;
  } catch (error) {
    log.logger.debug({ err: error }, 'the broker did not tell its time');
    return undefined;
  }
};
