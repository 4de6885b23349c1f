import { acknowledgeHandled } from './acknowledge-handled.ts';
import { ConsumerTakenOver } from './consumer-owner.ts';
import type { ConsumeOptions } from './consume-options.ts';
import type { Handle } from './outcome.ts';
import { handleMessage } from './handle-message.ts';
import type { EventLog } from '../connect/event-log.ts';
import { pullBatches } from '../follow/pull-batches.ts';
import type { DeliveredMessage } from '../messages/delivered-message.ts';
import { giveUpConsumer, openConsumer, rewindUnused } from './open-consumer.ts';
import type { Readiness } from '../connect/readiness.ts';
import { waitForConsumer, watchConsumer, type Opened } from './watch-consumer.ts';

export { ConsumerInUse, ConsumerTakenOver } from './consumer-owner.ts';
export { deadLetterBecause, done, retryIn } from './outcome.ts';
export type { ConsumeOptions } from './consume-options.ts';
export type { Handle, Outcome, Received } from './outcome.ts';
export { NewerVersion } from '../follow/newer-version.ts';

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
