import { headers, type Msg } from '@nats-io/transport-node';
import { perMinute, type PerMinute } from '@runledger/resilience/per-minute';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseJson } from '@runledger/event-log/read/stored-message';
import pLimit from 'p-limit';
import type { Endpoint } from './endpoint.ts';

/** Requests that wait for their turn. */
const MAX_WAITING = 500;
/** Of these, where each requester has a subject of its own, so that none keeps the others from their turn. */
const MAX_WAITING_OF_ONE = 2;
const MAX_REQUEST_BYTES = 64 * 1024;
/** The broker sends this status when nobody listens, and the requester's driver stops waiting. */
const NO_RESPONDERS = 503;

const utf8 = new TextEncoder();

/**
 * Responds to requests one after the other until it is disposed of. When `handle` gives undefined, nothing is sent: another
 * process may respond. What it throws is logged, and the next request is handled. When too many wait, the next requester
 * learns at once that there is no response.
 */
export const respond = <Request, Response>(
  log: EventLog,
  endpoint: Endpoint<Request, Response>,
  handle: Answer<Request, Response>,
): Disposable => {
  const { subject, description } = endpoint;
  const waiting = waitingRequests(subject);
  const oneAtATime = pLimit(1);
  const stopped = new AbortController();
  const lines = perMinute(1);
  let strangersLogged = false;

  const inTurn = async (message: Msg): Promise<void> => {
    if (stopped.signal.aborted) return;
    try {
      await respondTo(message, log, endpoint, handle, lines);
    } catch (error) {
      const line = lines('could not be handled');
      if (line)
        log.logger.error(
          { err: error, subject, ...line },
          `a request for ${description} could not be handled`,
        );
    } finally {
      waiting.done(message);
    }
  };
  const receive = (message: Msg): void => {
    if (!isRequest(message)) {
      if (!strangersLogged)
        log.logger.warn({ subject }, `a message is no request for ${description}; such messages are ignored`);
      strangersLogged = true;
    } else if (message.data.byteLength > MAX_REQUEST_BYTES || !waiting.takes(message)) {
      message.respond(undefined, { headers: headers(NO_RESPONDERS, 'too many requests') });
    } else void oneAtATime(() => inTurn(message));
  };
  const subscription = log.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error)
        log.logger.error({ err: error, subject }, `requests for ${description} are no longer received`);
      else receive(message);
    },
  });
  return {
    [Symbol.dispose]: () => {
      stopped.abort();
      subscription.unsubscribe();
    },
  };
};

/** The response to a request on this subject. */
type Answer<Request, Response> = (
  request: Request,
  subject: string,
) => Response | undefined | Promise<Response | undefined>;

interface WaitingRequests {
  /** Counts it, or says that too many wait. */
  readonly takes: (message: Msg) => boolean;
  readonly done: (message: Msg) => void;
}

const waitingRequests = (endpoint: string): WaitingRequests => {
  const bySubject = new Map<string, number>();
  let all = 0;
  return {
    takes: ({ subject }) => {
      const own = bySubject.get(subject) ?? 0;
      if (all >= MAX_WAITING || own >= (subject === endpoint ? MAX_WAITING : MAX_WAITING_OF_ONE))
        return false;
      bySubject.set(subject, own + 1);
      all += 1;
      return true;
    },
    done: ({ subject }) => {
      const left = (bySubject.get(subject) ?? 0) - 1;
      if (left > 0) bySubject.set(subject, left);
      else bySubject.delete(subject);
      all -= 1;
    },
  };
};

/**
 * A requester waits for the response in an inbox. A message that a consumer pushes wants an acknowledgement and is no
 * request: anyone allowed to create consumers chooses the subject to push to, even one where it may not send requests.
 */
const isRequest = ({ reply }: Msg): boolean =>
  reply !== undefined && reply !== '' && !reply.startsWith('$JS.');

const respondTo = async <Request, Response>(
  message: Msg,
  log: EventLog,
  { subject, description, parseRequest }: Endpoint<Request, Response>,
  handle: Answer<Request, Response>,
  lines: PerMinute,
): Promise<void> => {
  const request = parseRequest(parseJson(message.data));
  if (request === undefined) {
    const bytes = message.data.byteLength;
    const line = lines('does not match');
    if (line)
      log.logger.warn(
        { subject, bytes, ...line },
        `a request for ${description} does not match its schema; it is ignored`,
      );
    return;
  }
  const response = await handle(request, message.subject);
  if (response === undefined) return;
  const data = utf8.encode(JSON.stringify(response));
  const max = maxPayloadBytes(log);
  if (data.byteLength <= max) message.respond(data);
  else
    log.logger.error({ subject, bytes: data.byteLength, max }, `a response with ${description} is too large`);
};
