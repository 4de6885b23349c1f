import { ConsumerTakenOver } from './consumer-owner.ts';
import type { ConsumeOptions } from './consume-options.ts';
import type { Handle } from './outcome.ts';
import { handleMessage, type InFlight } from './handle-message.ts';
import type { EventLog } from '../connect/event-log.ts';
import type { NewerVersion } from '../follow/newer-version.ts';
import { openConsumer } from './open-consumer.ts';
import type { Readiness } from '../follow/pull-in-order.ts';
import { watchConsumer, waitForConsumer } from './watch-consumer.ts';

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

const PULL_FOR_MS = 10_000;
const SIGN_OF_LIFE_MS = 2_000;

/**
 * Hands every message under the subjects to `handle`, at least once. What is no JSON, what the handler asks to park, and
 * what it throws at five times goes to DEAD_LETTERS, and the next message follows.
 * @throws {LogUnavailable} @throws {InUse} when another process is the owner, and alive
 */
export const consume = async (
  log: EventLog,
  options: ConsumeOptions,
  handle: Handle,
): Promise<Consumption> => {
  const { name, stream, maxInFlight = 1, owner } = options;
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  const inHand: InFlight = new Map();
  let state: Readiness = { ok: true };
  const fail = (error: Error): void => {
    if (stop.signal.aborted) return;
    state = { ok: false, why: error.message };
    log.logger.error({ err: error, consumer: name, stream }, 'a consumer has stopped');
    stop.abort();
    failed.resolve(error);
  };
  const onNewer = (newer: NewerVersion): void => {
    options.onNewer?.(newer);
    fail(newer);
  };

  const info = await openConsumer(log, options);
  const opened = { info, owner };
  const consumer = log.js.consumers.getConsumerFromInfo(info);
  const pull = () =>
    consumer.consume({
      max_messages: maxInFlight,
      expires: PULL_FOR_MS,
      idle_heartbeat: SIGN_OF_LIFE_MS,
      abort_on_missing_resource: true,
      callback: (message) => {
        if (owner?.owns(message.subject) === false) {
          message.nak();
          fail(new ConsumerTakenOver(name, owner));
          return;
        }
        void handleMessage(message, {
          log,
          name,
          stream,
          handle,
          inFlight: inHand,
          onNewer,
          stop: stop.signal,
        }).catch((error: unknown) => fail(asError(error)));
      },
    });
  const run = async (): Promise<void> => {
    for (;;) {
      const messages = await pull();
      const close = (): void => messages.stop();
      stop.signal.addEventListener('abort', close, { once: true });
      // Left alone, the driver may wait before it asks a broker again that was not ready at once.
      const offReconnect = log.onReconnect(close);
      if (stop.signal.aborted) close();
      const error = await messages.closed();
      offReconnect();
      stop.signal.removeEventListener('abort', close);
      if (stop.signal.aborted) return;
      log.logger.warn({ err: error, consumer: name, stream }, 'a consumer was interrupted; it goes on');
      await waitForConsumer(log, opened, stop.signal);
    }
  };
  const orFail = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => fail(asError(error)));
  const running = orFail(run());
  const looking = owner && orFail(watchConsumer(log, opened, PULL_FOR_MS, stop.signal));
  return {
    state: () => state,
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all([running, looking]);
      await Promise.allSettled([...inHand.values()].map(({ finished }) => finished));
    },
  };
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
