import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';

/** The broker's clock and ours drift apart by less than a millisecond meanwhile, unless one of them is set. */
const ASK_EVERY_MS = 30_000;

interface Known {
  /** Of our monotonic clock. */
  readonly aheadMs: number;
  readonly asked: number;
}

/**
 * What time it is at the broker, in milliseconds since 1970, whatever the clocks of this machine say: too early by as
 * long as its answer took to come, and never too late. The stream that is asked says where: at its leader.
 * @throws {LogUnavailable}
 */
export const brokerClock = (log: EventLog, stream: string): (() => Promise<number>) => {
  let known: Known | undefined;
  let asking: Promise<Known> | undefined;
  const ask = async (): Promise<Known> => {
    const time = await callBroker('asking the broker for the time', () => readBrokerTime(log, stream));
    const asked = performance.now();
    return { aheadMs: time - asked, asked };
  };
  return async () => {
    if (known && performance.now() - known.asked < ASK_EVERY_MS) return known.aheadMs + performance.now();
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    known = await asking;
    return known.aheadMs + performance.now();
  };
};

export interface BrokerTime extends Disposable {
  readonly now: () => Date;
}

/**
 * The broker's time for whoever cannot wait for it: asked now and from time to time; between the answers, and while the
 * broker is away, our monotonic clock goes on from the last one.
 * @throws {LogUnavailable} when the first question is not answered
 */
export const openBrokerTime = async (log: EventLog, stream: string): Promise<BrokerTime> => {
  const ask = brokerClock(log, stream);
  const aheadMs = async (): Promise<number> => (await ask()) - performance.now();
  let known = await aheadMs();
  const again = setInterval(() => {
    aheadMs().then(
      (ahead) => (known = ahead),
      (error: unknown) => log.logger.debug({ err: error }, 'the broker did not say what time it is'),
    );
  }, ASK_EVERY_MS);
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
    throw new Error('The broker does not say what time it is: nats-server 2.10 or later is needed.');
  }
  return time;
};
