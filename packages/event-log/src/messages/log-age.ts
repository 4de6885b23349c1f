import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** How long RUNS keeps its messages, at one moment. Times are milliseconds since 1970 on the broker's clock. */
export interface LogAge {
  readonly now: number;
  /** Milliseconds; infinite without a limit. */
  readonly maxAgeMs: number;
  /** No message that was stored before this time is in the log any more. */
  readonly beginsAt: number;
}

const NANOS_PER_MS = 1_000_000;

/** Asks the broker. @throws {LogUnavailable} */
export const readLogAge = async (log: EventLog): Promise<LogAge> => {
  const { config, state, ts } = await callBroker('reading the age of stream RUNS', () =>
    log.jsm.streams.info('RUNS'),
  );
  if (ts === undefined)
    throw new Error('The broker did not report its time: nats-server 2.10 or later is needed.');
  const now = Date.parse(ts);
  return {
    now,
    maxAgeMs: config.max_age > 0 ? config.max_age / NANOS_PER_MS : Infinity,
    beginsAt: state.messages === 0 ? now : Date.parse(state.first_ts),
  };
};
