import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { AuthorizationError, PermissionViolationError, type NatsConnection } from '@nats-io/transport-node';
import { within } from '@runledger/resilience/within';
import { API_PREFIX, OWN_API_PREFIX, type BrokerSettings } from './broker-config.ts';
import {
  connectWithoutLimit,
  explainPermissionError,
  inboxPrefixOf,
  isLateResponse,
  notAllowed,
  orClosed,
} from './connect-broker.ts';
import { connectRequests } from './connected-requests.ts';
import { NO_OBSERVER, type Logger, type LogObserver } from './observability.ts';

export type { BrokerSettings } from './broker-config.ts';

/** The open log. Every function of this package takes it first. */
export interface EventLog extends AsyncDisposable {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** The subjects of requests to JetStream begin with it. */
  readonly apiPrefix: string;
  /** Of a log whose reads prove that they are not stale: see `withFreshReads`. */
  readonly freshSequence?: () => Promise<number | undefined>;
  readonly logger: Logger;
  readonly observer: LogObserver;
  connected(): boolean;
  /** Calls the listener after every reconnect. Returns a function that removes it. */
  onReconnect(listener: () => void): () => void;
  /** Calls the listener when another server of the cluster than the connected one has left. Returns a function that removes it. */
  onServerLeft(listener: () => void): () => void;
}

/** The broker is unavailable, or did not respond in time. The request may or may not have had its effect. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
  readonly code: string = 'log_unavailable';
}

/** Of one request; a lost connection ends it sooner. */
const RESPONSE_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 3_000;

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
  const apiPrefix = settings.seed === undefined ? OWN_API_PREFIX : API_PREFIX;
  const options = { timeout: RESPONSE_WITHIN_MS, apiPrefix };
  return {
    nc,
    js: jetstream(nc, options),
    // The check would fail while JetStream still reads its files after a start.
    jsm: await jetstreamManager(nc, { ...options, checkAPI: false }),
    apiPrefix,
    logger,
    observer,
    ...watched,
    [Symbol.asyncDispose]: () => close(nc, watched.connected()),
  };
};

interface ConnectionWatch extends Pick<EventLog, 'logger' | 'observer'> {
  readonly settings: BrokerSettings;
}

const watchConnection = (
  nc: NatsConnection,
  watch: ConnectionWatch,
): Pick<EventLog, 'connected' | 'onReconnect' | 'onServerLeft'> => {
  const { logger, observer } = watch;
  const errors = errorReport(watch);
  let connected = true;
  observer.connected(true);
  const requests = connectRequests(nc, inboxPrefixOf(watch.settings));
  const [reconnected, serverLeft, servers] = [listeners(), listeners(), serversOfCluster(nc)];
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        observer.connected(false);
        requests.lost(`the connection to ${status.server} was lost`);
        logger.warn({ server: status.server }, 'the broker is unavailable; connecting again');
      } else if (status.type === 'reconnect') {
        connected = true;
        errors.forget();
        requests.back();
        observer.connected(true);
        logger.info({ server: status.server }, 'the broker is back');
        reconnected.call();
      } else if (status.type === 'update') {
        if (servers.hasOneLeft()) serverLeft.call();
      } else if (status.type === 'error') {
        if (status.error instanceof PermissionViolationError) requests.refused(status.error);
        errors.report(status.error);
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
    requests.back();
  });
  return {
    connected: () => connected && !nc.isClosed(),
    onReconnect: reconnected.add,
    onServerLeft: serverLeft.add,
  };
};

interface ErrorReport {
  readonly report: (error: Error) => void;
  /** The broker accepts this service again. */
  readonly forget: () => void;
}

/** Logs a refused login once, until it is accepted. */
const errorReport = ({ logger, observer, settings }: ConnectionWatch): ErrorReport => {
  let refusalLogged = false;
  return {
    report: (error) => {
      if (error instanceof AuthorizationError) {
        observer.notAllowed();
        if (!refusalLogged) {
          const refused = notAllowed(settings, error);
          logger.error({ err: refused }, 'the broker rejects this service; connecting again');
        }
        refusalLogged = true;
        return;
      }
      if (isLateResponse(error)) {
        logger.warn(
          { err: error },
          'a response came too late: the connection of its request is gone; who asked asks again',
        );
        return;
      }
      const refused = explainPermissionError(error, settings.name);
      if (refused) {
        observer.notAllowed();
        logger.error({ err: refused }, 'the broker refused a request that this service may not send');
      } else logger.error({ err: error }, 'the broker reported an error');
    },
    forget: () => {
      refusalLogged = false;
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

/** Functions to call at an event. */
interface Listeners {
  /** Returns a function that removes it. */
  readonly add: (listener: () => void) => () => void;
  readonly call: () => void;
}

const listeners = (): Listeners => {
  const all = new Set<() => void>();
  return {
    add: (listener) => {
      all.add(listener);
      return () => void all.delete(listener);
    },
    call: () => all.forEach((listener) => listener()),
  };
};

/** Says after each update whether a server has left the cluster, by what the connected server advertises. */
const serversOfCluster = (nc: Pick<NatsConnection, 'info'>): { readonly hasOneLeft: () => boolean } => {
  const present = (): ReadonlySet<string> => new Set(nc.info?.connect_urls);
  let known = present();
  return {
    hasOneLeft: () => {
      const before = known;
      known = present();
      return !known.isSupersetOf(before);
    },
  };
};
