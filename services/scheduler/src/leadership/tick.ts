import { readBrokerTime } from '@runledger/coordination/polled-clock';
import type { BrokerClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { streamFill } from '@runledger/event-log/provision/stream-fill';
import { sleep } from '@runledger/resilience/abort';
import type { SchedulerInput } from '../core/state/scheduler-input.ts';

export interface TickOptions {
  readonly clock: BrokerClock;
  readonly everyMs: number;
  readonly take: (input: SchedulerInput) => void;
}

/** A broker that takes longer to respond may delay heartbeats as well. */
const SLOW_MS = 1_000;
const LOG_SIZE_EVERY_MS = 1_000;

/**
 * Ticks until the signal is aborted. Each tick follows a round trip to the broker: what the broker sent before has arrived,
 * and the response has its time. Without a response there is no tick, and missing heartbeats say nothing.
 */
export const tickUntilAborted = async (
  log: EventLog,
  { clock, everyMs, take }: TickOptions,
  signal: AbortSignal,
): Promise<void> => {
  let sizeReadMs = performance.now();
  while (!signal.aborted) {
    const sentMs = performance.now();
    const brokerMs = log.connected() ? await brokerTime(log) : undefined;
    const connectedMs = performance.now();
    if (signal.aborted) return;
    if (brokerMs === undefined || connectedMs - sentMs > SLOW_MS) {
      take({ type: 'reset_heartbeats', because: 'slow_round_trip', connectedMs });
    }
    if (brokerMs !== undefined) {
      clock.sample(brokerMs, connectedMs, sentMs);
      if (connectedMs - sizeReadMs >= LOG_SIZE_EVERY_MS) {
        sizeReadMs = connectedMs;
        await takeLogSize(log, take);
        if (signal.aborted) return;
      }
      const now = clock.at(connectedMs);
      if (now !== undefined) take({ type: 'tick', now, connectedMs });
    }
    await sleep(everyMs, signal);
  }
};

/** Without a response, the last size stays. */
export const takeLogSize = async (log: EventLog, take: TickOptions['take']): Promise<void> => {
  const fill = await streamFill(log, 'RUNS');
  if (fill) take({ type: 'log_size', bytes: fill.bytes, maxBytes: fill.maxBytes ?? -1 });
};

/** Of the leader of RUNS, whose stamps the deadlines count from. Undefined when it does not respond. */
const brokerTime = async (log: EventLog): Promise<number | undefined> => {
  try {
    return await readBrokerTime(log, 'RUNS');
  } catch (error) {
    log.logger.debug({ err: error }, 'the broker did not report its time');
    return undefined;
  }
};
