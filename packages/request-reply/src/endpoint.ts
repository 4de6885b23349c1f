import type { Static, TSchema } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { headers, type Msg } from '@nats-io/transport-node';
import { perMinute, type PerMinute } from '@runledger/resilience/per-minute';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseJson } from '@runledger/event-log/read/stored-message';
import pLimit from 'p-limit';

/** One kind of request over core NATS. Nothing is stored, and no guarantee depends on a response. */
export interface Endpoint<Request, Response> {
  readonly subject: string;
  /** What the request is for, in log messages: "the queue positions of runs". */
  readonly description: string;
  /** Undefined for what is no such request. */
  readonly parseRequest: (body: unknown) => Request | undefined;
  /** Undefined for what is no such response. */
  readonly parseResponse: (body: unknown) => Response | undefined;
}

/** A parser that gives undefined for what does not match the schema. Members of a later release are kept and ignored. */
export const parserOf = <Schema extends TSchema>(
  schema: Schema,
): ((body: unknown) => Static<Schema> | undefined) => {
  const validator = compiledSchema(schema);
  return (body) => (validator.Check(body) ? body : undefined);
};

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

/** Undefined when nobody responds, nobody does in time, or the response does not match its schema. */
export const sendRequest = async <Request, Response>(
  log: EventLog,
  { subject, description, parseResponse }: Endpoint<Request, Response>,
  request: Request,
  withinMs: number,
): Promise<Response | undefined> => {
  // A client that is not connected would keep the request in memory.
  if (!log.connected()) return undefined;
  try {
    const data = utf8.encode(JSON.stringify(request));
    const message = await log.nc.request(subject, data, { timeout: withinMs });
    const response = parseResponse(parseJson(message.data));
    if (response === undefined)
      log.logger.warn({ subject }, `a response with ${description} does not match its schema`);
    return response;
  } catch (error) {
    log.logger.debug({ err: error, subject }, `no response with ${description}`);
    return undefined;
  }
};

interface Gathering<Response> {
  /** How long responses are awaited in all. */
  readonly totalMs: number;
  /** It is over when none came for so long after the one before. */
  readonly quietMs: number;
  /** The most responses. */
  readonly most: number;
  /** Whether these are all that can come; without it nobody knows. */
  readonly isAll?: (gathered: readonly Response[]) => boolean;
}

/**
 * Sends one request to all who respond to it, and gives what came in time. Empty when nobody responds. A response that does not match the
 * schema is logged and left out.
 */
export const gatherResponses = async <Request, Response>(
  log: EventLog,
  { subject, description, parseResponse }: Endpoint<Request, Response>,
  request: Request,
  { totalMs, quietMs, most, isAll = () => false }: Gathering<Response>,
): Promise<Response[]> => {
  // A client that is not connected would keep the request in memory.
  if (!log.connected()) return [];
  const gathered: Response[] = [];
  const deadline = performance.now() + totalMs;
  try {
    const messages = await log.nc.requestMany(subject, utf8.encode(JSON.stringify(request)), {
      strategy: 'stall',
      maxWait: totalMs,
      stall: quietMs,
    });
    for await (const message of messages) {
      const response = parseResponse(parseJson(message.data));
      if (response !== undefined) gathered.push(response);
      else log.logger.warn({ subject }, `a response with ${description} does not match its schema`);
      // The driver's own time begins again with each message.
      if (gathered.length >= most || isAll(gathered) || performance.now() >= deadline) break;
    }
  } catch (error) {
    log.logger.debug({ err: error, subject }, `no more responses with ${description}`);
  }
  return gathered;
};

/** Of a response without its items. */
const OVERHEAD_BYTES = 100;

/** As many of the first items as fit into a message, and one in any case. */
export const firstThatFit = <Item>(items: readonly Item[], maxBytes: number): Item[] => {
  const fitting: Item[] = [];
  let left = maxBytes - OVERHEAD_BYTES;
  for (const item of items) {
    left -= Buffer.byteLength(JSON.stringify(item)) + 1;
    if (left < 0 && fitting.length > 0) return fitting;
    fitting.push(item);
  }
  return fitting;
};
