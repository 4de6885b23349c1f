import type { ConsumerInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import type { Readiness } from '../connect/observability.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import { checkAsOpened, ConsumerTakenOver, type Owner } from './consumer-owner.ts';
import { handleMessage, type Handle } from './handle-message.ts';
import {
  findConsumer,
  giveUpConsumer,
  openConsumer,
  rewindUnused,
  type ConsumeOptions,
} from './open-consumer.ts';
import { pullBatches } from './pull-batches.ts';

export { ConsumerInUse, ConsumerTakenOver } from './consumer-owner.ts';
export { deadLetterBecause, done, retryIn } from './handle-message.ts';
export type { Outcome } from './handle-message.ts';
export { NewerVersion } from '../read/newer-version.ts';

export interface Consumption extends AsyncDisposable {
  state(): Readiness;
  /** Resolves when the consumption has stopped by itself. */
  readonly failed: Promise<Error>;
}

const LOOK_EVERY_MS = 10_000;

/**
 * Passes every message under the subjects to `handle`, one after the other in the order of the stream, at least once. A message
 * becomes a dead letter, and the next one follows, when it is not JSON, when the handler returns `dead_letter`, or when the
 * handler throws five times. After every interruption the broker delivers again what was not acknowledged.
 * @throws {LogUnavailable} @throws {ConsumerInUse} when another process owns and uses the consumer
 */
export const consume = async (
  log: EventLog,
  options: ConsumeOptions,
  handle: Handle,
): Promise<Consumption> => {
  const { name, stream, owner } = options;
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let state: Readiness = { ok: true };
  const fail = (reason: unknown): void => {
    if (stop.signal.aborted) return;
    const error = reason instanceof Error ? reason : new Error(String(reason));
    state = { ok: false, why: error.message };
    log.logger.error({ err: error, consumer: name, stream }, 'a consumer has stopped');
    stop.abort();
    failed.resolve(error);
  };

  const opened = { info: await openConsumer(log, options), owner };
  const handling = { log, name, stream, handle, stop: stop.signal };
  const handled = acknowledgeHandled();
  const take = async (messages: readonly DeliveredMessage[]): Promise<void> => {
    for (const message of messages) {
      if (owner?.owns(message.subject) === false) throw new ConsumerTakenOver(name, owner);
      if (!(await handleMessage(message, handling))) return;
      handled.add(message);
    }
  };
  const running = keepPulling(log, opened, (messages) => take(messages).catch(fail), stop.signal).catch(fail);
  const looking = owner && watchConsumer(log, opened, LOOK_EVERY_MS, stop.signal).catch(fail);
  return {
    state: () => state,
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all([running, looking]);
      handled[Symbol.dispose]();
      if (owner) await giveUpConsumer(log, opened.info, owner);
    },
  };
};

/** Pulls over restarts of the broker, until the signal. @throws as `waitForConsumer` */
const keepPulling = async (
  log: EventLog,
  opened: Opened,
  take: (messages: readonly DeliveredMessage[]) => Promise<void>,
  stop: AbortSignal,
): Promise<void> => {
  const { name, stream_name: stream } = opened.info;
  for (let { info } = opened; !stop.aborted;) {
    try {
      await pullBatches(log, info, { take, pauseMs: 0 }, stop);
    } catch (error) {
      if (stop.aborted) return;
      log.logger.warn({ err: error, consumer: name, stream }, 'a consumer was interrupted; it continues');
      info = await waitForConsumer(log, opened, stop, rewindUnused);
    }
  }
};

/** What was handled, in the order of the stream. On disposal the broker gets the last acknowledgement. */
interface Handled extends Disposable {
  add(message: DeliveredMessage): void;
}

const ACKNOWLEDGE_EVERY_MS = 500;

/** Acknowledges the last message with all before it: each on its own would cost the broker as much as storing one. */
const acknowledgeHandled = (): Handled => {
  let last: DeliveredMessage | undefined;
  let due: NodeJS.Timeout | undefined;
  const acknowledge = (): void => {
    due = undefined;
    try {
      last?.acknowledge();
    } catch {
      // The connection was closed. It is delivered again to whoever comes next.
    }
  };
  return {
    add: (message) => {
      last = message;
      due ??= setTimeout(acknowledge, ACKNOWLEDGE_EVERY_MS);
    },
    [Symbol.dispose]: () => {
      if (due === undefined) return;
      clearTimeout(due);
      acknowledge();
    },
  };
};

const POLL_MS = 200;

/** A consumer as it was opened, and its owner. */
interface Opened {
  readonly info: ConsumerInfo;
  readonly owner: Owner | undefined;
}

/**
 * Waits while the broker is unavailable or starting, and until `prepare` returns true. The consumer as it is then; as it was opened
 * at the signal.
 * @throws when the broker has lost the consumer, or its configuration was changed
 */
const waitForConsumer = async (
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
const watchConsumer = async (
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
