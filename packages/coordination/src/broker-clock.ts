import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';

/** In this time the two clocks drift apart by less than a millisecond, unless one of them is set. */
const READ_EVERY_MS = 30_000;

interface Known {
  /** How far the broker's time is ahead of our monotonic clock. */
  readonly aheadMs: number;
  readonly readAt: number;
}

/**
 * The broker's time in milliseconds since 1970, independent of the clock of this machine. It is late by as long as the response
 * took, and never early. The time is that of the leader of the stream.
 * @throws {LogUnavailable}
 */
export const brokerClock = (log: EventLog, stream: string): (() => Promise<number>) => {
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  const read = async (): Promise<Known> => {
    const time = await callBroker('reading the time of the broker', () => readBrokerTime(log, stream));
    const readAt = performance.now();
    return { aheadMs: time - readAt, readAt };
  };
  return async () => {
    if (known && performance.now() - known.readAt < READ_EVERY_MS) return known.aheadMs + performance.now();
    reading ??= read().finally(() => {
      reading = undefined;
    });
    known = await reading;
    return known.aheadMs + performance.now();
  };
};

export interface BrokerTime extends Disposable {
  readonly now: () => Date;
}

/**
 * The broker's time at once, for callers that cannot wait. It is read now and from time to time; in between, and while the broker
 * is away, our monotonic clock continues from the last reading.
 * @throws {LogUnavailable} when it cannot be read the first time
 */
export const openBrokerTime = async (log: EventLog, stream: string): Promise<BrokerTime> => {
  const read = brokerClock(log, stream);
  const aheadMs = async (): Promise<number> => (await read()) - performance.now();
  let known = await aheadMs();
  const again = setInterval(() => {
    aheadMs().then(
      (ahead) => (known = ahead),
      (error: unknown) => log.logger.debug({ err: error }, 'the time of the broker could not be read'),
    );
  }, READ_EVERY_MS);
  return {
    now: () => new Date(known + performance.now()),
    [Symbol.dispose]: () => clearInterval(again),
  };
};

/** The broker's time in milliseconds since 1970, from the leader of the stream, by one request. */
export const readBrokerTime = async (log: EventLog, stream: string): Promise<number> => {
  const info: object = await log.jsm.streams.info(stream);
  // The driver's type of the response does not have the time.
  const time = 'ts' in info && typeof info.ts === 'string' ? Date.parse(info.ts) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new Error('The broker does not give its time: nats-server 2.10 or later is needed.');
  }
  return time;
};
