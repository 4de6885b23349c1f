import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, DeliverPolicy, JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { Consumer, ConsumerConfig } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/history';
import { nanos } from '@nats-io/transport-node';
import { askBroker } from './ask-broker.ts';
import { ACK_WITHIN_MS, handleDelivery, type InHand } from './handle-delivery.ts';
import { LogUnavailable, type EventLog } from './event-log.ts';
import type { NewerVersion } from './newer-version.ts';
import type { State } from './pull-in-order.ts';

export { NewerVersion } from './newer-version.ts';

/** What became of a message. `retry` waits in this process, so that nothing overtakes it. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'park'; readonly because: string };

export const done: Outcome = { kind: 'done' };
export const retryIn = (inMs: number): Outcome => ({ kind: 'retry', inMs });
export const parkBecause = (because: string): Outcome => ({ kind: 'park', because });

export interface Received {
  readonly stored: StoredMessage;
  readonly subject: string;
  readonly sequence: number;
  /** The broker's time of it. */
  readonly time: string;
  /** Parsed JSON. */
  readonly body: unknown;
  readonly redelivered: boolean;
}

export type Handle = (message: Received) => Promise<Outcome>;

export interface ConsumeOptions {
  /** The durable name: the broker keeps the position under it. Letters, digits, "_" and "-". */
  readonly name: string;
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Where a new consumer begins: with everything that is stored, or with what comes. */
  readonly deliver: 'all' | 'new';
  /** 1 when left out: strictly in order. More are handled side by side, in any order. */
  readonly maxInFlight?: number;
  /** The broker forgets the consumer when nobody asked for it this long. For ever when left out. */
  readonly forgetAfterMs?: number;
  /** Told before the consumption stops at an event that this release cannot read. */
  readonly onNewer?: (newer: NewerVersion) => void;
}

export interface Consumption extends AsyncDisposable {
  state(): State;
  /** Resolves when the consumption has stopped by itself. */
  readonly failed: Promise<Error>;
}

const PULL_FOR_MS = 10_000;
const SIGN_OF_LIFE_MS = 2_000;
const LOOK_AGAIN_MS = 200;

/**
 * Hands every message under the subjects to `handle`, at least once. What is no JSON, what the handler asks to park, and
 * what it throws at five times goes to PARKED, and the next message follows.
 * @throws {LogUnavailable}
 */
export const consume = async (
  log: EventLog,
  options: ConsumeOptions,
  handle: Handle,
): Promise<Consumption> => {
  const { name, stream, maxInFlight = 1 } = options;
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  const inHand: InHand = new Map();
  let state: State = { ok: true };
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

  const consumer = await openDurable(log, options);
  const pull = () =>
    consumer.consume({
      max_messages: maxInFlight,
      expires: PULL_FOR_MS,
      idle_heartbeat: SIGN_OF_LIFE_MS,
      abort_on_missing_resource: true,
      callback: (message) => {
        void handleDelivery(message, { log, name, stream, handle, inHand, onNewer, stop: stop.signal }).catch(
          (error: unknown) => fail(asError(error)),
        );
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
      await untilThere(log, stream, name, stop.signal);
    }
  };
  const running = run().catch((error: unknown) => fail(asError(error)));
  return {
    state: () => state,
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
      await Promise.allSettled([...inHand.values()].map(({ finished }) => finished));
    },
  };
};

/** @throws when the broker has lost the consumer; one that is away or starting is waited for. */
const untilThere = async (
  log: EventLog,
  stream: string,
  name: string,
  signal: AbortSignal,
): Promise<void> => {
  const what = `looking for the consumer ${name} of ${stream}`;
  while (!signal.aborted) {
    await pause(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    try {
      await askBroker(what, () => log.jsm.consumers.info(stream, name));
      return;
    } catch (error) {
      if (!(error instanceof LogUnavailable) || log.nc.isClosed()) throw error;
    }
  }
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const openDurable = async (log: EventLog, options: ConsumeOptions): Promise<Consumer> => {
  const { name, stream, subjects, deliver, maxInFlight = 1, forgetAfterMs } = options;
  const config: Partial<ConsumerConfig> = {
    filter_subjects: [...subjects],
    ack_wait: nanos(ACK_WITHIN_MS),
    // With one at a time, the broker itself keeps the order, over redeliveries too.
    max_ack_pending: maxInFlight,
    max_deliver: -1,
    ...(forgetAfterMs === undefined ? {} : { inactive_threshold: nanos(forgetAfterMs) }),
  };
  const info = await askBroker(`opening the consumer ${name} of ${stream}`, async () => {
    try {
      await log.jsm.consumers.info(stream, name);
    } catch (error) {
      if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound))
        throw error;
      return log.jsm.consumers.add(stream, {
        ...config,
        durable_name: name,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: deliver === 'all' ? DeliverPolicy.All : DeliverPolicy.New,
      });
    }
    return log.jsm.consumers.update(stream, name, config);
  });
  return log.js.consumers.getConsumerFromInfo(info);
};
