import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/history';
import { askBroker } from './ask-broker.ts';
import { handleDelivery, type InHand } from './handle-delivery.ts';
import { LogUnavailable, type EventLog } from './event-log.ts';
import type { NewerVersion } from './newer-version.ts';
import { checkOwner, lookAtDurable, openDurable, TakenOver, type Owner } from './open-durable.ts';
import type { State } from './pull-in-order.ts';

export { TakenOver } from './open-durable.ts';
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
  /**
   * The consumer is for one process at a time, and for one subject. When a newer process has opened it, the consumption
   * of this one stops with TakenOver.
   */
  readonly owner?: Owner;
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
  const { name, stream, maxInFlight = 1, owner } = options;
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
        if (owner?.owns(message.subject) === false) {
          message.nak();
          fail(new TakenOver(name, owner));
          return;
        }
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
      await untilThere(log, options, stop.signal);
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

/** @throws when the broker has lost the consumer or gave it to another; one that is away or starting is waited for. */
const untilThere = async (
  log: EventLog,
  { stream, name, owner }: ConsumeOptions,
  signal: AbortSignal,
): Promise<void> => {
  const what = `looking for the consumer ${name} of ${stream}`;
  while (!signal.aborted) {
    await pause(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    try {
      const found = await askBroker(what, () => lookAtDurable(log, stream, name));
      if (found === undefined) throw new Error(`The broker has no consumer ${name} of ${stream} any more.`);
      checkOwner(found, owner);
      return;
    } catch (error) {
      if (!(error instanceof LogUnavailable) || log.nc.isClosed()) throw error;
    }
  }
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
