import type { ConsumerInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import { checkAsOpened, type Owner } from './consumer-owner.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { findConsumer } from './open-consumer.ts';

const POLL_MS = 200;

/** A consumer as it was opened, and its owner. */
export interface Opened {
  readonly info: ConsumerInfo;
  readonly owner: Owner | undefined;
}

/**
 * Waits while the broker is unavailable or starting, and until `prepare` returns true. The consumer as it is then; as it was opened
 * at the signal.
 * @throws when the broker has lost the consumer, or its configuration was changed
 */
export const waitForConsumer = async (
  log: EventLog,
  { info, owner }: Opened,
  signal: AbortSignal,
  prepare?: (log: EventLog, found: ConsumerInfo) => Promise<boolean>,
): Promise<ConsumerInfo> => {
  const { stream_name: stream, name } = info;
  const what = `reading the consumer ${name} of ${stream}`;
  while (!signal.aborted) {
    await sleep(POLL_MS, signal);
    try {
      const found = await callBroker(what, () => findConsumer(log, stream, name));
      if (found === undefined) throw new Error(`The broker no longer has the consumer ${name} of ${stream}.`);
      checkAsOpened(found, info, owner);
      if (!prepare || (await callBroker(what, () => prepare(log, found)))) return found;
    } catch (error) {
      if (!(error instanceof LogUnavailable) || log.nc.isClosed()) throw error;
    }
  }
  return info;
};

/**
 * Checks the consumer periodically until the signal: a lost consumer would look like one without messages.
 * @throws as `waitForConsumer`
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
