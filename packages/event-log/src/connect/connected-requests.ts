import {
  ClosedConnectionError,
  createInbox,
  NoRespondersError,
  type PermissionViolationError,
  RequestError,
  TimeoutError,
  type Msg,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { within } from '@runledger/resilience/within';

/** The connection was lost before the response came. The request may or may not have had its effect. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

interface ConnectedRequests {
  /** The connection is lost: requests that wait for a response end with ConnectionLost. */
  readonly lost: (why: string) => void;
  /** There is a connection again, or never will be. */
  readonly back: () => void;
  /** The broker does not permit a request: the first one to its subject ends with the error. */
  readonly refused: (error: PermissionViolationError) => void;
}

type Request = NatsConnection['request'];

interface Waiting {
  readonly subject: string;
  readonly settle: (result: Msg | Error) => void;
}

const DEFAULT_TIMEOUT_MS = 1_000;
const NO_RESPONDERS = 503;

/**
 * Makes the requests of a connection end with it, and wait for the next one. The driver leaves them to their timeouts, and drops what
 * is sent before it begins to connect again. One subscription takes all responses, as in the driver, whose request takes twice the
 * processor time: it makes an error with its stack for each response that it receives.
 *
 * The requests of one turn of the event loop are published in one go, so the driver sends them with one write to the socket. It writes
 * after each callback otherwise, and a write costs as much processor time as everything else about a message, here and at the broker.
 * Turns that have little to do are short, so nothing waits: Node.js waits for nothing between a callback and `setImmediate`.
 */
export const connectRequests = (nc: NatsConnection, inboxPrefix: string): ConnectedRequests => {
  const inbox = `${createInbox(inboxPrefix)}.`;
  const waiting = new Map<string, Waiting>();
  let outage: PromiseWithResolvers<void> | undefined;
  let responses: Subscription | undefined;
  let sent = 0;
  const due: (() => void)[] = [];

  const inThisTurn = (publish: () => void): void => {
    if (due.push(publish) > 1) return;
    setImmediate(() => {
      for (const each of due.splice(0)) each();
    });
  };

  const endAll = (error: Error): void => waiting.forEach(({ settle }) => settle(error));

  const receive = (error: Error | null, message: Msg): void => {
    if (error === null) return waiting.get(message.subject.slice(inbox.length))?.settle(message);
    // The broker ended the subscription, so the next request opens another.
    responses = undefined;
    endAll(error);
  };

  const send: Request = (subject, payload, options) => {
    const { timeout = DEFAULT_TIMEOUT_MS, headers } = options ?? {};
    const { promise, resolve, reject } = Promise.withResolvers<Msg>();
    sent += 1;
    const id = sent.toString(36);
    const settle: Waiting['settle'] = (result) => {
      clearTimeout(timer);
      waiting.delete(id);
      if (result instanceof Error) reject(result);
      else if (hasNoResponders(result)) reject(noResponders(subject));
      else resolve(result);
    };
    const timer = setTimeout(() => settle(new TimeoutError()), timeout);
    waiting.set(id, { subject, settle });
    inThisTurn(() => {
      // It ended meanwhile, with the connection: nobody waits for it any more.
      if (!waiting.has(id)) return;
      try {
        responses ??= nc.subscribe(`${inbox}*`, { callback: receive });
        nc.publish(subject, payload, { reply: inbox + id, ...(headers && { headers }) });
      } catch (error) {
        settle(error instanceof Error ? error : new Error(String(error)));
      }
    });
    return promise;
  };

  nc.request = async (subject, payload, options) => {
    if (outage) {
      await within(options?.timeout ?? DEFAULT_TIMEOUT_MS, outage.promise, () => {
        throw new TimeoutError();
      });
    }
    return send(subject, payload, options);
  };
  void nc.closed().then(() => endAll(new ClosedConnectionError()));

  return {
    lost: (why) => {
      outage ??= Promise.withResolvers();
      endAll(new ConnectionLost(why));
    },
    back: () => {
      outage?.resolve();
      outage = undefined;
    },
    refused: (error) => {
      if (error.operation !== 'publish') return;
      [...waiting.values()].find(({ subject }) => subject === error.subject)?.settle(error);
    },
  };
};

const hasNoResponders = ({ data, headers }: Msg): boolean =>
  data.length === 0 && headers?.code === NO_RESPONDERS;

/** In the driver's form, by which its JetStream client recognises it. */
const noResponders = (subject: string): RequestError => {
  const cause = new NoRespondersError(subject);
  return new RequestError(cause.message, { cause });
};
