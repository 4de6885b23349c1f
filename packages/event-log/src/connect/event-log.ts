import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import { AuthorizationError, connect, nkeyAuthenticator } from '@nats-io/transport-node';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { unlessAborted } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { API_PREFIX } from './log-account.ts';
import { inboxOf, publicKeyOf } from './user-key.ts';
import { explainPermissionError, NotAllowed } from './not-allowed.ts';
import { NO_OBSERVER, type LogObserver } from './log-observer.ts';
import type { Logger } from './logger.ts';

export interface BrokerSettings {
  /** One server or several between commas, `nats://host:port` each. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  /** Of an nkey, instead of user and password, at a broker that `brokerConfiguration` configures. */
  readonly seed?: string;
  /** Shown by the broker beside the connection, for example `gateway-ab12`. */
  readonly name: string;
}

/** The open log. Every function of this package takes it first. */
export interface EventLog extends AsyncDisposable {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly logger: Logger;
  readonly observer: LogObserver;
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
const GREETED_WITHIN_MS = 5_000;

/**
 * Connects to the broker, and waits for it for ever, or until the signal: a service may start before it. A connection
 * that was lost is taken up again for ever too.
 * @throws the signal's reason @throws {NotAllowed} when the broker does not know the user @throws {UnusableSeed}
 */
export const openEventLog = async (
  settings: BrokerSettings,
  logger: Logger,
  signal?: AbortSignal,
  observer: LogObserver = NO_OBSERVER,
): Promise<EventLog> => {
  const connecting = connectForEver(settings);
  const nc = await (signal ? unlessStopped(connecting, signal) : connecting);
  const watched = watchConnection(nc, { logger, observer, settings });
  const options = {
    timeout: ANSWER_WITHIN_MS,
    ...(settings.seed === undefined ? {} : { apiPrefix: API_PREFIX }),
  };
  return {
    nc,
    js: jetstream(nc, options),
    // The check would fail while JetStream is still reading its files after a start.
    jsm: await jetstreamManager(nc, { ...options, checkAPI: false }),
    logger,
    observer,
    ...watched,
    [Symbol.asyncDispose]: () => close(nc, watched.connected()),
  };
};

const connectForEver = async (settings: BrokerSettings): Promise<NatsConnection> => {
  const options: ConnectionOptions = {
    servers: settings.url.split(',').map((server) => server.trim()),
    name: settings.name,
    ...identity(settings),
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A broker that reads its configuration anew may leave a greeting without an answer; 20 s by default.
    timeout: GREETED_WITHIN_MS,
    pingInterval: 10_000,
    maxPingOut: 2,
    // Doubles the publish throughput; only stack traces of the driver's own errors are lost.
    noAsyncTraces: true,
  };
  // Before a connection is there the driver tells of a refusal only by giving up. One that is in use must not be given up
  // when a broker comes back without the user for a moment: so another one asks first.
  try {
    const asking = await connect(options);
    await asking.close();
  } catch (error) {
    throw error instanceof AuthorizationError ? notAllowed(settings, error) : error;
  }
  return connect({ ...options, ignoreAuthErrorAbort: true });
};

const identity = ({ seed, user, password }: BrokerSettings): ConnectionOptions => {
  if (seed === undefined) {
    return { ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { pass: password }) };
  }
  return {
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())),
    inboxPrefix: inboxOf(publicKeyOf(seed)),
  };
};

const notAllowed = ({ url, name, user, seed }: BrokerSettings, cause: AuthorizationError): NotAllowed => {
  const who = seed === undefined ? (user ?? 'somebody without a name') : publicKeyOf(seed);
  return new NotAllowed(
    `The broker at ${url} does not let ${name} in as ${who}. Check NATS_NKEY_FILE, or NATS_USER and NATS_PASSWORD; a key ` +
      'has to be in the configuration of the broker: make both with "runledger broker-config", and have the broker read it.',
    { cause },
  );
};

/** What connects after all is closed. */
const unlessStopped = async (
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

const watchConnection = (
  nc: NatsConnection,
  {
    logger,
    observer,
    settings,
  }: Pick<EventLog, 'logger' | 'observer'> & { readonly settings: BrokerSettings },
): Pick<EventLog, 'connected' | 'onReconnect'> => {
  let connected = true;
  let refusalTold = false;
  observer.connected(true);
  const listeners = new Set<() => void>();
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        observer.connected(false);
        logger.warn({ server: status.server }, 'the broker is away; connecting again');
      } else if (status.type === 'reconnect') {
        connected = true;
        refusalTold = false;
        observer.connected(true);
        logger.info({ server: status.server }, 'the broker is back');
        for (const listener of listeners) listener();
      } else if (status.type === 'error' && status.error instanceof AuthorizationError) {
        observer.notAllowed();
        if (!refusalTold) {
          const refused = notAllowed(settings, status.error);
          logger.error({ err: refused }, 'the broker does not let this service in; connecting again');
        }
        refusalTold = true;
      } else if (status.type === 'error') {
        const refused = explainPermissionError(status.error, settings.name);
        if (refused) {
          observer.notAllowed();
          logger.error({ err: refused }, 'the broker refuses what this service is not allowed');
        } else logger.error({ err: status.error }, 'the broker reports an error');
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
    const drained = nc.drain().catch(() => undefined);
    await within(CLOSE_WITHIN_MS, drained, () => undefined);
  }
  if (!nc.isClosed()) await nc.close();
};
