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
  /** One server, or several separated by commas, each `nats://host:port`. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  /** The seed of an nkey, instead of user and password, at a broker that `brokerConfiguration` configures. */
  readonly seed?: string;
  /** The broker shows it with the connection, for example `gateway-ab12`. */
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
  /** Calls the listener after every reconnect. Returns a function that removes it. */
  onReconnect(listener: () => void): () => void;
}

/** The broker is unavailable, or did not respond in time. The request may or may not have had its effect. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
  readonly code: string = 'log_unavailable';
}

/** The driver does not reject in-flight requests on a disconnect, so a short timeout and a retry reach the broker sooner. */
const RESPONSE_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 3_000;
const HANDSHAKE_WITHIN_MS = 5_000;

/**
 * Connects to the broker. Waits for it until the signal, since a service may start before the broker. A lost connection is
 * reopened, without a limit of time.
 * @throws the signal's reason @throws {NotAllowed} when the broker rejects the user @throws {InvalidSeed}
 */
export const openEventLog = async (
  settings: BrokerSettings,
  logger: Logger,
  signal?: AbortSignal,
  observer: LogObserver = NO_OBSERVER,
): Promise<EventLog> => {
  const connecting = connectWithoutLimit(settings);
  const nc = await (signal ? orClosed(connecting, signal) : connecting);
  const watched = watchConnection(nc, { logger, observer, settings });
  const options = {
    timeout: RESPONSE_WITHIN_MS,
    ...(settings.seed === undefined ? {} : { apiPrefix: API_PREFIX }),
  };
  return {
    nc,
    js: jetstream(nc, options),
    // The check would fail while JetStream still reads its files after a start.
    jsm: await jetstreamManager(nc, { ...options, checkAPI: false }),
    logger,
    observer,
    ...watched,
    [Symbol.asyncDispose]: () => close(nc, watched.connected()),
  };
};

const connectWithoutLimit = async (settings: BrokerSettings): Promise<NatsConnection> => {
  const options: ConnectionOptions = {
    servers: settings.url.split(',').map((server) => server.trim()),
    name: settings.name,
    ...identity(settings),
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A broker that reloads its configuration may leave a handshake without a response. The driver's default is 20 s.
    timeout: HANDSHAKE_WITHIN_MS,
    pingInterval: 10_000,
    maxPingOut: 2,
    // Doubles the publish throughput, and costs only the stack traces of the driver's own errors.
    noAsyncTraces: true,
  };
  // The driver reports a refusal before the first connection only when it may give up on it. But a connection in use must
  // survive a broker that comes back without the user for a moment. So another connection tries first.
  try {
    const trial = await connect(options);
    await trial.close();
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
  const who = seed === undefined ? (user ?? 'an anonymous user') : publicKeyOf(seed);
  return new NotAllowed(
    `The broker at ${url} rejected ${name} as ${who}. Check NATS_NKEY_FILE, or NATS_USER and NATS_PASSWORD. A key ` +
      'must be in the configuration of the broker: create both with "runledger broker-config", and reload the broker.',
    { cause },
  );
};

/** Closes a connection that opens after the signal. */
const orClosed = async (
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
  let refusalLogged = false;
  observer.connected(true);
  const listeners = new Set<() => void>();
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        observer.connected(false);
        logger.warn({ server: status.server }, 'the broker is unavailable; connecting again');
      } else if (status.type === 'reconnect') {
        connected = true;
        refusalLogged = false;
        observer.connected(true);
        logger.info({ server: status.server }, 'the broker is back');
        for (const listener of listeners) listener();
      } else if (status.type === 'error' && status.error instanceof AuthorizationError) {
        observer.notAllowed();
        if (!refusalLogged) {
          const refused = notAllowed(settings, status.error);
          logger.error({ err: refused }, 'the broker rejects this service; connecting again');
        }
        refusalLogged = true;
      } else if (status.type === 'error') {
        const refused = explainPermissionError(status.error, settings.name);
        if (refused) {
          observer.notAllowed();
          logger.error({ err: refused }, 'the broker refused a request that this service may not send');
        } else logger.error({ err: status.error }, 'the broker reported an error');
      } else if (status.type === 'slowConsumer') {
        logger.warn(
          { subject: status.sub.getSubject() },
          'the broker holds messages back, because this service reads too slowly',
        );
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
    // The drain never ends when the broker is lost during it.
    const drained = nc.drain().catch(() => undefined);
    await within(CLOSE_WITHIN_MS, drained, () => undefined);
  }
  if (!nc.isClosed()) await nc.close();
};
