import { Runledger, RunledgerError, ApiError, ConnectionFailed } from '@runledger/client/source';
import { ACCEPT_EXACT_NUMBERS } from '@runledger/contracts/http/headers';
import { parseJson } from '@runledger/contracts/json';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { retry } from '@runledger/resilience/retry';
import { explainNoAnswer, refusalOf, Unavailable } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { nodeFetch, whenLate } from './node-fetch.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';

/** Reads are answered at once. A server that says nothing for this long is told of. */
const SILENT_MS = 5_000;
/** Of a read that looks at many facts, and of a change: without its answer nobody knows whether it was made. */
export const ANSWER_WITHIN_MS = 30_000;
/** Of the rest of an answer that has begun. */
const BODY_WITHIN_MS = 30_000;
/** Timers hold no more. The limits are those of each request here, and its retries those of its command. */
const NO_LIMIT = { timeoutMs: 2 ** 31 - 1, retries: 0 };

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** After the base path. `at` encodes the parts that come from outside. */
  readonly path: string;
  /** Undefined members are left out, here and in the body. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** A file is sent as it is, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the service may take until it begins to answer; by default 5 s for a GET, and 30 s for a change. */
  readonly answerWithinMs?: number;
  /** How long the service waits before that, because the request says so. */
  readonly waitsMs?: number;
}

/** Returns an answer that matches the schema. @throws Unavailable for a temporary failure, CommandError for any other answer */
export type ApiCall = <Schema extends TSchema>(
  schema: Schema,
  request: ApiRequest,
) => Promise<Static<Schema>>;

/** The schema of an answer without a body. */
export const Nothing = Type.Undefined();

/** A path whose parameters are encoded. */
export const at = (texts: TemplateStringsArray, ...given: readonly string[]): string =>
  String.raw({ raw: texts }, ...given.map(encodeURIComponent));

export const apiCall =
  (connection: ApiConnection, warn: (line: string) => void): ApiCall =>
  async (schema, request) => {
    const body = await answerTo(connection, request, warn);
    if (Value.Check(schema, body)) return body;
    throw new CommandError(
      `${connection.url}${request.path} answered in a form that this release does not understand. Use the same release of the command and the service.`,
    );
  };

const answerTo = async (
  connection: ApiConnection,
  request: ApiRequest,
  warn: (line: string) => void,
): Promise<unknown> => {
  const { method, waitsMs = 0 } = request;
  const { answerWithinMs = method === 'GET' ? SILENT_MS : ANSWER_WITHIN_MS } = request;
  const [silentMs, limitMs] = [waitsMs + SILENT_MS, waitsMs + answerWithinMs];
  const abort = new AbortController();
  const giveUpAfter = (ms: number, what: string) =>
    whenLate(ms, () => abort.abort(new Error(`${what} ${ms / 1_000} s`)));
  const sayThatItWaits = (): void =>
    warn(
      `${connection.url} has not answered for ${silentMs / 1_000} s. Waiting for up to ${limitMs / 1_000} s in all.`,
    );
  const withoutNotice = limitMs > silentMs ? whenLate(silentMs, sayThatItWaits) : () => undefined;
  let inTime = giveUpAfter(limitMs, 'it sent nothing for');
  try {
    const response = await send(connection, request, {
      signal: abort.signal,
      onWarning: (sentence) => warn(`Warning: ${plain(sentence)}`),
    });
    withoutNotice();
    inTime();
    inTime = giveUpAfter(BODY_WITHIN_MS, 'its answer did not end within');
    return parseJson(await response.text());
  } catch (error) {
    throw failureOf(connection, error);
  } finally {
    withoutNotice();
    inTime();
  }
};

/** Its answers are checked by a schema here, so that the service may be of another release. */
type Send = (method: string, path: string, options: object) => Promise<Response>;

/** Sends a request with the client of the API. Rejects without an answer, and with ApiError for a refusal. */
export const send = (
  { url, apiKey }: { readonly url: string; readonly apiKey: string | null },
  { method, path, query, body, headers }: ApiRequest,
  { signal, onWarning }: { readonly signal?: AbortSignal; readonly onWarning?: (sentence: string) => void },
): Promise<Response> => {
  const client = new Runledger({ url, apiKey, basePath: '', fetch: nodeFetch, onWarning, ...NO_LIMIT });
  return (client.fetch as Send)(method, path, {
    query,
    headers: { accept: ACCEPT_EXACT_NUMBERS, ...headers },
    body,
    signal,
  });
};

/** What the command says about what `send`, or reading its response, has thrown. */
export const failureOf = (connection: ApiConnection, error: unknown): CommandError => {
  if (error instanceof CommandError) return error;
  if (error instanceof ApiError) return refusalOf(connection, error);
  // A setting of the connection that the client refuses.
  if (error instanceof RunledgerError && !(error instanceof ConnectionFailed))
    return new CommandError(error.message);
  return new Unavailable(explainNoAnswer(connection, error));
};

const WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 1_000;

/**
 * Repeats a call while the service is unavailable, for a minute in all. A call that changes something sends the same
 * idempotency key each time.
 */
export const retryForAMinute = <Result>(call: () => Promise<Result>, screen: Screen): Promise<Result> =>
  retry(
    {
      isUnavailable: (error) => error instanceof Unavailable,
      leastMs: (error) => (error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0),
      withinMs: WITHIN_MS,
      firstMs: AGAIN_AFTER_MS,
      longestMs: AGAIN_AFTER_MS,
      onRetry: (error, tries) => {
        if (tries === 1 && error instanceof Error) {
          screen.hint(`${error.message}\nRetrying for up to ${WITHIN_MS / 1_000} s.`);
        }
      },
    },
    call,
  );

/** A count changes nothing, so that it may stop early. */
export const MAX_PAGES_COUNTED = 100;

/** Reads page after page, up to a limit. @throws CommandError if the service repeats a page */
export const pages = async function* <Page extends { readonly next_cursor: string | null }>(
  readPage: (cursor: string | undefined) => Promise<Page>,
  maxPages = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  for (let read = 0; read < maxPages; read += 1) {
    const page = await readPage(cursor);
    yield page;
    if (page.next_cursor === null) return;
    if (page.next_cursor === cursor)
      throw new CommandError(
        'The service returned the same page again. The results so far are valid. Use the same release of the command and the service.',
      );
    cursor = page.next_cursor;
  }
};
