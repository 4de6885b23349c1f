import type { JsMsg } from '@nats-io/jetstream';
import { onConsumerLost } from '../connect/consumer-lost.ts';
import { ConsumerTakenOver } from './consumer-owner.ts';
import type { ConsumeOptions } from './consume-options.ts';
import type { Handle } from './outcome.ts';
import { handleMessage, type InFlight } from './handle-message.ts';
import type { EventLog } from '../connect/event-log.ts';
import { openConsumer } from './open-consumer.ts';
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

const PULL_FOR_MS = 10_000;
const IDLE_HEARTBEAT_MS = 2_000;

/**
 * Passes every message under the subjects to `handle`, at least once. A message becomes a dead letter, and the next one
 * follows, when it is not JSON, when the handler returns `dead_letter`, or when the handler throws five times.
 * @throws {LogUnavailable} @throws {ConsumerInUse} when another process owns and uses the consumer
 */
export const consume = async (
  log: EventLog,
  options: ConsumeOptions,
  handle: Handle,
): Promise<Consumption> => {
  const { name, stream, maxInFlight = 1, owner } = options;
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  const inFlight: InFlight = new Map();
  let state: Readiness = { ok: true };
  const fail = (error: Error): void => {
    if (stop.signal.aborted) return;
    state = { ok: false, why: error.message };
    log.logger.error({ err: error, consumer: name, stream }, 'a consumer has stopped');
    stop.abort();
    failed.resolve(error);
  };

  const info = await openConsumer(log, options);
  const opened = { info, owner };
  const take = (message: JsMsg): void => {
    if (owner?.owns(message.subject) === false) {
      message.nak();
      fail(new ConsumerTakenOver(name, owner));
      return;
    }
    const handling = { log, name, stream, handle, inFlight, onNewer: fail, stop: stop.signal };
    void handleMessage(message, handling).catch((error: unknown) => fail(asError(error)));
  };
  const orFail = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => fail(asError(error)));
  const running = orFail(keepPulling(log, opened, { maxInFlight, take }, stop.signal));
  const looking = owner && orFail(watchConsumer(log, opened, PULL_FOR_MS, stop.signal));
  return {
    state: () => state,
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all([running, looking]);
      await Promise.allSettled([...inFlight.values()].map(({ finished }) => finished));
    },
  };
};

/** Sends one pull after the other, over restarts of the broker, until the signal. @throws as `waitForConsumer` */
const keepPulling = async (
  log: EventLog,
  opened: Opened,
  { maxInFlight, take }: { readonly maxInFlight: number; readonly take: (message: JsMsg) => void },
  stop: AbortSignal,
): Promise<void> => {
  const { name, stream_name: stream } = opened.info;
  const consumer = log.js.consumers.getConsumerFromInfo(opened.info);
  for (let { info } = opened; ;) {
    const messages = await consumer.consume({
      max_messages: maxInFlight,
      expires: PULL_FOR_MS,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
      abort_on_missing_resource: true,
      callback: take,
    });
    const close = (): void => messages.stop();
    stop.addEventListener('abort', close, { once: true });
    // Otherwise the driver may wait before it retries a broker that was not ready at once.
    const offLost = onConsumerLost(log, info, close);
    if (stop.aborted) close();
    const error = await messages.closed();
    offLost();
    stop.removeEventListener('abort', close);
    if (stop.aborted) return;
    log.logger.warn({ err: error, consumer: name, stream }, 'a consumer was interrupted; it continues');
    info = await waitForConsumer(log, opened, stop);
  }
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
