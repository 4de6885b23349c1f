import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';

const WINDOW_MS = 300_000;
/** Clocks of brokers may differ by that much, and slow clocks are corrected in such steps. */
const TOLERANCE_MS = 1_000;

/**
 * The broker's clock, estimated from its time stamps and the monotonic time at which they arrive: `polledClock` feeds it with the
 * responses to its questions, the scheduler with every message that it reads. It never reads this machine's wall clock. A stamp is
 * always older than its arrival, so the least delayed one is nearest to the truth, and the estimate is late by that delay rather
 * than early: nothing ends before its time.
 */
export class BrokerClock {
  readonly #windowMs: number;
  #before = -Infinity;
  #offset = -Infinity;
  #since = -Infinity;

  /** The estimate covers the last two windows of `windowMs`, and a clock that is set back is believed after them, or after a response. */
  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /**
   * A message with the broker's stamp `brokerMs` (since 1970) arrived at the monotonic time `atMs`. In the response to a request that
   * was sent at `sentMs` the stamp is not older than that, so a clock that shows less was set back, or another broker leads.
   */
  sample(brokerMs: number, atMs: number, sentMs = -Infinity): void {
    if (!Number.isFinite(brokerMs)) return;
    const isSetBack = Math.max(this.#before, this.#offset) > brokerMs - sentMs + TOLERANCE_MS;
    if (isSetBack) this.#before = this.#offset = -Infinity;
    if (atMs - this.#since >= this.#windowMs) {
      this.#before = this.#offset;
      this.#offset = -Infinity;
      this.#since = atMs;
    }
    this.#offset = Math.max(this.#offset, brokerMs - atMs);
  }

  /** The broker's time at the monotonic time `atMs`, in milliseconds since 1970; undefined before the first sample. */
  at(atMs: number): number | undefined {
    const offset = Math.max(this.#before, this.#offset);
    return offset === -Infinity ? undefined : offset + atMs;
  }
}

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

interface BrokerTime extends Disposable {
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
