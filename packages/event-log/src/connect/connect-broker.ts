import { AuthorizationError, connect, nkeyAuthenticator } from '@nats-io/transport-node';
import type { ConnectionOptions, NatsConnection, ReconnectToServerHandler } from '@nats-io/transport-node';
import { unlessAborted } from '@runledger/resilience/abort';
import { NotAllowed } from './not-allowed.ts';
import { writeOnceATurn } from './one-write-a-turn.ts';
import { inboxOf, publicKeyOf } from './user-key.ts';

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

const HANDSHAKE_WITHIN_MS = 5_000;
/**
 * A broker that answers nothing for 2.7 seconds counts as lost, and the next one of the list is tried: executors have to send
 * their heartbeats within a period, 6 s by default, and clients should not wait for longer than three. One that answers within 1.8
 * seconds is only slow.
 */
const PING_EVERY_MS = 900;
const MAX_UNANSWERED_PINGS = 2;

/** Waits for the broker without a limit of time. */
export const connectWithoutLimit = async (settings: BrokerSettings): Promise<NatsConnection> => {
  const options: ConnectionOptions = {
    servers: settings.url.split(',').map((server) => server.trim()),
    name: settings.name,
    ...identity(settings),
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectToServer: leastRecentlyTried,
    // A broker that reloads its configuration may leave a handshake without a response. The driver's default is 20 s.
    timeout: HANDSHAKE_WITHIN_MS,
    pingInterval: PING_EVERY_MS,
    maxPingOut: MAX_UNANSWERED_PINGS,
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
  return writeOnceATurn(await connect({ ...options, ignoreAuthErrorAbort: true }));
};

/**
 * The driver would first try the broker again that was just lost, and a frozen one takes the whole time of a handshake. Addresses
 * that the cluster advertises are not used: they may be those of another network.
 */
const leastRecentlyTried: ReconnectToServerHandler = (servers) =>
  servers
    .filter(({ gossiped }) => !gossiped)
    .toSorted((one, other) => one.lastConnect - other.lastConnect)[0] ?? null;

const identity = (settings: BrokerSettings): ConnectionOptions => {
  const { seed, user, password } = settings;
  if (seed === undefined) {
    return { ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { pass: password }) };
  }
  return {
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())),
    inboxPrefix: inboxPrefixOf(settings),
  };
};

/** The beginning of the subjects to which this user gets responses. */
export const inboxPrefixOf = ({ seed }: BrokerSettings): string =>
  seed === undefined ? '_INBOX' : inboxOf(publicKeyOf(seed));

export const notAllowed = (
  { url, name, user, seed }: BrokerSettings,
  cause: AuthorizationError,
): NotAllowed => {
  const who = seed === undefined ? (user ?? 'an anonymous user') : publicKeyOf(seed);
  return new NotAllowed(
    `The broker at ${url} rejected ${name} as ${who}. Check NATS_NKEY_FILE, or NATS_USER and NATS_PASSWORD. A key ` +
      'must be in the configuration of the broker: create both with "runledger broker-config", and reload the broker.',
    { cause },
  );
};

/** Closes a connection that opens after the signal. */
export const orClosed = async (
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
