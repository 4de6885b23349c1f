import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { unlessAborted } from './abort-signal.ts';
import type { Logger } from './logger.ts';

export interface BrokerSettings {
  /** One server or several between commas, `nats://host:port` each. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  /** Shown by the broker beside the connection, for example `gateway-ab12`. */
  readonly name: string;
}

/** The open log. Every function of this package takes it first. */
export interface EventLog extends AsyncDisposable {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly logger: Logger;
  connected(): boolean;
  /** Calls the listener after every reconnect; the answer takes it off again. */
  onReconnect(listener: () => void): () => void;
}

/** The broker is away, or did not answer in time. What was asked may or may not have been done. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
  readonly code: string = 'log_unavailable';
}

/** In-flight requests are not rejected on a disconnect, so a short time-out and a retry find the broker again sooner. */
const ANSWER_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 3_000;

/**
 * Connects to the broker, and waits for it for ever, or until the signal: a service may start before it. A connection
 * that was lost is taken up again for ever too.
 * @throws the signal's reason
 */
export const openEventLog = async (
  settings: BrokerSettings,
  logger: Logger,
  signal?: AbortSignal,
): Promise<EventLog> => {
  const connecting = connect({
    servers: settings.url.split(',').map((server) => server.trim()),
    name: settings.name,
    ...(settings.user === undefined ? {} : { user: settings.user }),
    ...(settings.password === undefined ? {} : { pass: settings.password }),
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    pingInterval: 10_000,
    maxPingOut: 2,
    // Doubles the publish throughput; only stack traces of the driver's own errors are lost.
    noAsyncTraces: true,
  });
  const nc = await (signal ? orAborted(connecting, signal) : connecting);
  const watched = watchConnection(nc, logger);
  return {
    nc,
    js: jetstream(nc, { timeout: ANSWER_WITHIN_MS }),
    // The check would fail while JetStream is still reading its files after a start.
    jsm: await jetstreamManager(nc, { timeout: ANSWER_WITHIN_MS, checkAPI: false }),
    logger,
    ...watched,
    [Symbol.asyncDispose]: () => close(nc, watched.connected()),
  };
};

/** What connects after all is closed. */
const orAborted = async (
  connecting: Promise<NatsConnection>,
  signal: AbortSignal,
): Promise<NatsConnection> => {
  try {
    return await unlessAborted(connecting, signal);
  } catch (error) {
    void connecting.then((late) => late.close()).catch(() => undefined);
    throw error;
  }
};

const watchConnection = (nc: NatsConnection, logger: Logger): Pick<EventLog, 'connected' | 'onReconnect'> => {
  let connected = true;
  const listeners = new Set<() => void>();
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        logger.warn({ server: status.server }, 'the broker is away; connecting again');
      } else if (status.type === 'reconnect') {
        connected = true;
        logger.info({ server: status.server }, 'the broker is back');
        for (const listener of listeners) listener();
      } else if (status.type === 'error') {
        logger.error({ err: status.error }, 'the broker reports an error');
      } else if (status.type === 'slowConsumer') {
        logger.warn({ subject: status.sub.getSubject() }, 'the broker holds messages back: too slow');
      }
    }
  };
  void follow().finally(() => {
    connected = false;
  });
  return {
    connected: () => connected && !nc.isClosed(),
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

const close = async (nc: NatsConnection, connected: boolean): Promise<void> => {
  if (nc.isClosed()) return;
  if (connected && !nc.isDraining()) {
    // A broker that goes away during the drain would hold the stop for ever.
    const late = AbortSignal.timeout(CLOSE_WITHIN_MS);
    await Promise.race([
      nc.drain().catch(() => undefined),
      new Promise((resolve) => late.addEventListener('abort', resolve, { once: true })),
    ]);
  }
  if (!nc.isClosed()) await nc.close();
};
