import type { Logger } from '@runledger/event-log/connect/observability';
import { BlobRef } from '@runledger/contracts/blobs';
import { retry } from '@runledger/resilience/retry';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { MAX_ASSIGNMENT_BYTES } from '@runledger/contracts/limits';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { activeTraceparent, inSpan, markFailed } from '@runledger/service-kit/spans';
import { messageOf } from '@runledger/resilience/errors';
import { Value } from 'typebox/value';
import { type Assignment, attemptAttributes } from '../attempt/assignment.decide.ts';

/** The gateway, for one attempt or one version that is to be ready. */
export interface GatewayPlace {
  /** For whom, in logs and in spans. */
  readonly about: Readonly<Record<string, string | number>>;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The address of what the gateway keeps for it. */
  readonly url: (name: string, query?: Readonly<Record<string, string>>) => URL;
  readonly token: () => Promise<string>;
}

/** Its addresses are `/executions/{org_id}/{run_id}/{attempt}/{name}`; the token is signed by this executor when it is first needed, which few attempts do. */
export interface AttemptGateway extends GatewayPlace {
  readonly assignment: Assignment;
}

export interface GatewaySettings {
  readonly gateway: URL;
  readonly signAttempt: (assignment: Assignment) => Promise<string>;
  readonly log: Logger;
}

export const openAttemptGateway = (
  { gateway, signAttempt }: GatewaySettings,
  assignment: Assignment,
): AttemptGateway => {
  const { org_id, run_id, attempt } = assignment;
  let token: Promise<string> | undefined;
  return {
    assignment,
    about: { run_id, attempt },
    attributes: attemptAttributes(assignment),
    token: () => (token ??= signAttempt(assignment)),
    url: (name, query) => urlBelow(gateway, `executions/${org_id}/${run_id}/${attempt}/${name}`, query),
  };
};

export const urlBelow = (gateway: URL, path: string, query?: Readonly<Record<string, string>>): URL => {
  const url = new URL(gateway);
  url.pathname = `${gateway.pathname.replace(/\/$/, '')}/${path}`;
  if (query) url.search = new URLSearchParams(query).toString();
  return url;
};

export interface UntilAnswered {
  /** The attempt stops: the run is cancelled or requeued, or the executor stops. */
  readonly stop: AbortSignal;
  /** Called before each wait. `level`: how to log it. A gateway that starts beside this executor, or anew, is no reason to warn. */
  readonly onRetry: (why: string, level: 'info' | 'warn') => void;
}

export type Answered<Ok> =
  | Ok
  | Extract<GatewayRefusal, { readonly kind: 'not_current' | 'refused' }>
  | { readonly kind: 'stopped' };

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** Together 8 to 16 seconds. */
const USUAL_RETRIES = 6;
/** The gateway may read the assignment a little later than this executor, and refuses the attempt until then. */
const MAX_NOT_CURRENT = 6;

/** Repeats a request of an attempt while the gateway is unavailable, or has not read the assignment yet. */
export const untilAnswered = async <Ok extends { readonly kind: string }>(
  { stop, onRetry }: UntilAnswered,
  ask: () => Promise<Ok | GatewayRefusal>,
): Promise<Answered<Ok>> => {
  let notCurrent = 0;
  const options = {
    firstMs: FIRST_RETRY_MS,
    longestMs: MAX_RETRY_MS,
    signal: stop,
    isUnavailable: (error: unknown) => error instanceof NotYet,
    leastMs: (error: unknown) => (error instanceof NotYet ? Math.min(error.leastMs, MAX_RETRY_MS) : 0),
    onRetry: (error: unknown, tries: number) =>
      onRetry(messageOf(error), tries <= USUAL_RETRIES ? 'info' : 'warn'),
  };
  try {
    return await retry(options, async () => {
      const answer = await ask();
      if (!isRefusal(answer)) return answer;
      if (answer.kind === 'unavailable') throw new NotYet(answer.why, answer.retryAfterMs ?? 0);
      if (answer.kind === 'not_current' && (notCurrent += 1) <= MAX_NOT_CURRENT)
        throw new NotYet(answer.why, 0);
      return answer;
    });
  } catch (error) {
    if (stop.aborted) return { kind: 'stopped' };
    throw error;
  }
};

const isRefusal = (answer: { readonly kind: string }): answer is GatewayRefusal =>
  answer.kind === 'unavailable' || answer.kind === 'not_current' || answer.kind === 'refused';

class NotYet extends Error {
  readonly leastMs: number;

  constructor(why: string, leastMs: number) {
    super(why);
    this.leastMs = leastMs;
  }
}

export interface GatewayRequest {
  readonly method: 'GET' | 'PUT';
  readonly url: URL;
  /** Of the attempt. */
  readonly token: string;
  /** The first byte that is wanted. */
  readonly from?: number;
  readonly body?: {
    readonly type: string;
    readonly bytes: number;
    readonly content: AsyncIterable<Uint8Array> | Uint8Array;
  };
}

export type GatewayRefusal =
  /** For the gateway the attempt is not the current one: it has read more, or less, than this executor. */
  | { readonly kind: 'not_current'; readonly why: string }
  /** The gateway will never accept the request as it is. `detail`, `code`: the gateway's own words. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly why: string;
      readonly detail: string;
      readonly code: string | null;
    }
  /** The gateway, or what it needs, is unavailable. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly retryAfterMs: number | null };

export interface GatewayAnswer<Body> {
  readonly kind: 'ok';
  readonly status: number;
  readonly body: Body;
}

export type GatewayResponse = GatewayAnswer<Buffer> | GatewayRefusal;

/** A gateway that neither accepts nor sends data for this time counts as unavailable. */
const GATEWAY_IDLE_MS = 60_000;
/** A store of the gateway has no room, and nobody knows when it has: the attempt ends. */
export const STORAGE_FULL = 507;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Sends one request of an attempt, once. An abort gives `unavailable`, and a longer response is refused. */
export const requestGateway = async (
  { maxResponseBytes, ...request }: GatewayRequest & { readonly maxResponseBytes: number },
  signal: AbortSignal,
): Promise<GatewayResponse> => {
  const answer = await requestFromGateway(request, signal, (incoming) =>
    readBody(incoming, maxResponseBytes),
  );
  if (answer.kind !== 'ok' || answer.body.byteLength <= maxResponseBytes) return answer;
  const detail = `the response of the gateway is longer than ${maxResponseBytes} bytes`;
  return { kind: 'refused', status: answer.status, why: detail, detail, code: null };
};

/** Sends one request of an attempt, once, and reads the body of a success by `read`. An abort, or a `read` that rejects, gives `unavailable`. */
export const requestFromGateway = async <Body>(
  { method, url, token, from = 0, body }: GatewayRequest,
  signal: AbortSignal,
  read: (incoming: IncomingMessage) => Promise<Body>,
): Promise<GatewayAnswer<Body> | GatewayRefusal> => {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const traceparent = activeTraceparent();
  const outgoing = send(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': body.type, 'content-length': body.bytes }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(from === 0 ? {} : { range: `bytes=${from}-` }),
    },
    signal,
    timeout: GATEWAY_IDLE_MS,
  });
  outgoing.on('timeout', () =>
    outgoing.destroy(new Error(`the gateway sent nothing for ${GATEWAY_IDLE_MS / 1000} s`)),
  );
  // The first error is reported below; later ones must not become unhandled.
  outgoing.on('error', () => undefined);
  const incoming = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  const content = body === undefined || body.bytes === 0 ? [] : body.content;
  // A response may come before everything is sent. It says more than the broken pipe that follows.
  const sent = pipeline(content instanceof Uint8Array ? [content] : content, outgoing).catch(() => undefined);
  try {
    return await readResponse(await incoming, read);
  } catch (error) {
    const why = messageOf(error);
    return { kind: 'unavailable', why, retryAfterMs: null };
  } finally {
    outgoing.destroy();
    await sent;
  }
};

const readResponse = async <Body>(
  incoming: IncomingMessage,
  read: (incoming: IncomingMessage) => Promise<Body>,
): Promise<GatewayAnswer<Body> | GatewayRefusal> => {
  const status = incoming.statusCode ?? 0;
  if (status === 200 || status === 201 || status === 206)
    return { kind: 'ok', status, body: await read(incoming) };
  const { detail, code } = refusalIn((await readBody(incoming, MAX_REFUSAL_BYTES)).toString('utf8'));
  const why = `the gateway responded with ${status}: ${detail}`;
  if (status === 401 || status === 409) return { kind: 'not_current', why };
  const isUnavailable = status >= 500 && status !== STORAGE_FULL;
  if (status === 408 || status === 425 || status === 429 || isUnavailable) {
    return { kind: 'unavailable', why, retryAfterMs: retryAfterMs(incoming.headers['retry-after']) };
  }
  return { kind: 'refused', status, why, detail, code };
};

/** The body, or its beginning, of more than `maxBytes`. */
const readBody = async (incoming: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of incoming) {
    const read = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    pieces.push(read);
    bytes += read.byteLength;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(pieces);
};

const refusalIn = (text: string): { readonly detail: string; readonly code: string | null } => {
  const value = parseJson(text);
  const { detail = text, code }: Record<string, unknown> = isJsonObject(value) ? { ...value } : {};
  return {
    detail: (typeof detail === 'string' ? detail : JSON.stringify(detail)).slice(0, 500),
    code: typeof code === 'string' ? code : null,
  };
};

const retryAfterMs = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null;

interface TracedRequest {
  readonly attributes: GatewayPlace['attributes'];
  readonly method: 'GET' | 'PUT';
  /** What is requested, such as `output`. The name of a file may be confidential, so it is not recorded. */
  readonly what: string;
  /** Of the body. */
  readonly bytes?: number;
}

/** One try of one request to the gateway. */
export const requestSpan = <Result extends { readonly kind: string }>(
  { attributes: about, method, what, bytes }: TracedRequest,
  send: () => Promise<Result>,
): Promise<Result> => {
  const attributes = {
    'http.request.method': method,
    ...(bytes === undefined ? {} : { 'http.request.body.size': bytes }),
    ...about,
  };
  return inSpan(`${method} ${what}`, { kind: 'client', attributes }, async (span) => {
    const result = await send();
    if (FAILED.has(result.kind)) markFailed(span, result.kind);
    return result;
  });
};

const FAILED: ReadonlySet<string> = new Set(['unavailable', 'not_current', 'refused']);

/** Of a document that is fetched. */
const FETCH_WITHIN_MS = 30_000;

/** Fetches a document that the gateway has, such as `assignment`. Waits while the gateway is unavailable; each try has half a minute. */
export const fetchDocumentAt = (
  { attributes, url, token }: GatewayPlace,
  name: string,
  until: UntilAnswered,
  query?: Readonly<Record<string, string>>,
): Promise<Answered<GatewayAnswer<Buffer>>> =>
  untilAnswered(until, async () => {
    const request = { method: 'GET', url: url(name, query), token: await token() } as const;
    const signal = AbortSignal.any([until.stop, AbortSignal.timeout(FETCH_WITHIN_MS)]);
    return requestSpan({ attributes, method: 'GET', what: name }, () =>
      requestGateway({ ...request, maxResponseBytes: MAX_ASSIGNMENT_BYTES }, signal),
    );
  });

interface AttemptDocument {
  /** Names it for the gateway. */
  readonly name: 'log' | 'output-list';
  readonly type: string;
  readonly content: Buffer;
}

const MAX_REFERENCE_BYTES = 4 * 1024;

/** Stores a document of an attempt. Waits while the gateway is unavailable. */
export const storeDocument = async (
  settings: GatewaySettings,
  assignment: Assignment,
  { name, type, content }: AttemptDocument,
  until: UntilAnswered,
): Promise<Answered<{ readonly kind: 'stored'; readonly blob: BlobRef }>> => {
  const { url, token, attributes } = openAttemptGateway(settings, assignment);
  const bytes = content.byteLength;
  const request = {
    method: 'PUT',
    url: url(name),
    token: await token(),
    body: { type, bytes, content },
    maxResponseBytes: MAX_REFERENCE_BYTES,
  } as const;
  const what = name.replace('-', ' ');
  return untilAnswered(until, () =>
    requestSpan({ attributes, method: 'PUT', what, bytes }, async () => {
      const answer = await requestGateway(request, until.stop);
      if (answer.kind !== 'ok') return answer;
      const blob = parseJson(answer.body.toString('utf8'));
      if (Value.Check(BlobRef, blob)) return { kind: 'stored', blob } as const;
      const why = 'the response of the gateway is not a reference to it.';
      return { kind: 'refused', status: answer.status, why, detail: why, code: null } as const;
    }),
  );
};
