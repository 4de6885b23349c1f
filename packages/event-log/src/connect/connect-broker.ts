import {
  AuthorizationError,
  connect,
  NatsConnectionImpl,
  PermissionViolationError,
  type ConnectionOptions,
  type NatsConnection,
  type ReconnectToServerHandler,
} from '@nats-io/transport-node';
import { unlessAborted } from '@runledger/resilience/abort';
import { inboxOf, type BrokerSettings } from './broker-config.ts';
import { keyAuthenticator, publicKeyOf } from './user-key.ts';

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
  try {
    const connected = await connect(options);
    // The driver reports a refusal before the first connection only when it may give up on it. But a connection in use must
    // survive a broker that comes back without the user for a moment. The driver asks its options at each refusal.
    if (!(connected instanceof NatsConnectionImpl))
      throw new TypeError('The connection is not of this driver.');
    connected.options.ignoreAuthErrorAbort = true;
    return connected;
  } catch (error) {
    throw error instanceof AuthorizationError ? notAllowed(settings, error) : error;
  }
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
    authenticator: keyAuthenticator(seed),
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

/** The broker does not allow this client to do that. It is available, and a retry does not help. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
  readonly code = 'not_allowed';
}

const WHAT_TO_DO =
  'Permissions are generated from the contract of each service: generate the configuration of the broker again with ' +
  '"runledger broker-config", reload the broker, and check that this service has the key of its own name.';

/** Explains which request the broker refused, and to which client; undefined for another error. */
export const explainPermissionError = (error: unknown, who = 'this service'): NotAllowed | undefined => {
  const violation = violationIn(error);
  if (!violation) return undefined;
  const verb = violation.operation === 'publish' ? 'publish to' : 'subscribe to';
  const what = violation.subject === '' ? violation.message : `${verb} ${violation.subject}`;
  return new NotAllowed(`The broker does not allow ${who} to ${what}. ${WHAT_TO_DO}`, { cause: error });
};

/**
 * Whether a response came too late: its request came over a connection that was lost before, and the right to the response with it. Who asked
 * got none, and asks again. nats-server gives responses to other accounts this prefix.
 */
export const isLateResponse = (error: unknown): boolean => {
  const violation = violationIn(error);
  return violation?.operation === 'publish' && violation.subject.startsWith('_R_.');
};

/** The driver wraps the error of a refused request. */
const violationIn = (error: unknown): PermissionViolationError | undefined => {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof PermissionViolationError) return at;
  }
  return undefined;
};
