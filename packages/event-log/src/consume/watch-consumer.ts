import type { ConsumerInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import { checkAsOpened, type Owner } from './consumer-owner.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { findConsumer } from './open-consumer.ts';

const LOOK_AGAIN_MS = 200;

/** A consumer as it was opened, and whom it is for. */
export interface Opened {
  readonly info: ConsumerInfo;
  readonly owner: Owner | undefined;
}

/**
 * Waits for a broker that is away or starting.
 * @throws when the broker has lost the consumer, or it is not as it was opened
 */
export const waitForConsumer = async (
  log: EventLog,
  { info, owner }: Opened,
  signal: AbortSignal,
): Promise<void> => {
  const { stream_name: stream, name } = info;
  const what = `looking for the consumer ${name} of ${stream}`;
  while (!signal.aborted) {
    await sleep(LOOK_AGAIN_MS, signal);
    try {
      const found = await callBroker(what, () => findConsumer(log, stream, name));
      if (found === undefined) throw new Error(`The broker has no consumer ${name} of ${stream} any more.`);
      checkAsOpened(found, info, owner);
      return;
    } catch (error) {
      if (!(error instanceof LogUnavailable) || log.nc.isClosed()) throw error;
    }
  }
};

/**
 * Looks again and again, until the signal: a consumer that hands out nothing any more is else like one that has nothing
 * to hand out.
 * @throws as `untilThere`
 */
export const watchConsumer = async (
  log: EventLog,
  opened: Opened,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    await sleep(everyMs, signal);
    await waitForConsumer(log, opened, signal);
  }
};
