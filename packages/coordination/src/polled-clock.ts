import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { BrokerClock } from './broker-clock.ts';

/** In this time the two clocks drift apart by less than a millisecond, unless one of them is set. */
const READ_EVERY_MS = 30_000;

/**
 * The broker's time in milliseconds since 1970, for a process that can wait for a response. The time is that of the leader of the
 * stream.
 * @throws {LogUnavailable}
 */
export const polledClock = (log: EventLog, stream: string): (() => Promise<number>) => {
  const { now, readAgain } = readings(log, stream);
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    await readAgain();
    readAt = performance.now();
  };
  return async () => {
    if (performance.now() - readAt >= READ_EVERY_MS) {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return now();
  };
};

export interface BrokerTime extends Disposable {
  readonly now: () => Date;
}

/**
 * The broker's time at once, for callers that cannot wait. It is read now and from time to time; in between, and while the broker
 * is unavailable, our monotonic clock continues from the last reading.
 * @throws {LogUnavailable} when it cannot be read the first time
 */
export const openBrokerTime = async (log: EventLog, stream: string): Promise<BrokerTime> => {
  const { now, readAgain } = readings(log, stream);
  await readAgain();
  const again = setInterval(() => {
    readAgain().catch((error: unknown) =>
      log.logger.debug({ err: error }, 'the time of the broker could not be read'),
    );
  }, READ_EVERY_MS);
  return {
    now: () => new Date(now()),
    [Symbol.dispose]: () => clearInterval(again),
  };
};

interface Readings {
  /** The estimate; there is one after the first reading. */
  readonly now: () => number;
  /** @throws {LogUnavailable} */
  readonly readAgain: () => Promise<void>;
}

const readings = (log: EventLog, stream: string): Readings => {
  const clock = new BrokerClock(READ_EVERY_MS);
  return {
    now: () => clock.at(performance.now()) ?? Number.NaN,
    readAgain: async () => {
      await callBroker('reading the time of the broker', async () => {
        const sentMs = performance.now();
        clock.sample(await readBrokerTime(log, stream), performance.now(), sentMs);
      });
    },
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
