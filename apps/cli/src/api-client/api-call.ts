import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { ACCEPT_EXACT_NUMBERS } from '@runledger/contracts/http/headers/exact-numbers';
import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import { parseJson } from '@runledger/contracts/json';
import type { Static, TSchema } from 'typebox';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { explainAnswer, explainNoAnswer, refusalIn } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { sendRequest } from '../http/http-request.ts';
import { whenLate } from '../http/when-late.ts';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';

/** Reads are answered at once. A server that says nothing for this long is told of. */
const SILENT_MS = 5_000;
/** Of a read that looks at many facts, and of a change: without its answer nobody knows whether it was made. */
export const ANSWER_WITHIN_MS = 30_000;
/** Of the rest of an answer that has begun. */
const BODY_WITHIN_MS = 30_000;

/** There was no answer, or an answer such as 429 or 503. The same request may succeed later. */
export class Unavailable extends CommandError {
  /** From the Retry-After header; null without one. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    retryAfterMs: number | null = null,
    options: ConstructorParameters<typeof CommandError>[1] = {},
  ) {
    super(message, options);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** After the base path. `at` encodes the parts that come from outside. */
  readonly path: string;
  /** Undefined members are left out, here and in the body. */
  readonly query?: Readonly<Record<string, unknown>>;
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
    const answer = await answerTo(connection, request, warn);
    for (const warning of warningsOf(answer)) warn(`Warning: ${warning}`);
    if (!answer.ok) throw refusal(connection, answer);
    if (Value.Check(schema, answer.body)) return answer.body;
    throw new CommandError(
      `${connection.url}${request.path} answered in a form that this release does not understand. Use the same release of the command and the service.`,
    );
  };

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
  /** Members of the request that the service ignored. */
  readonly ignored: string | null;
  /** Sentences about names in the request that the service ignored. */
  readonly warnings: string | null;
}

/** What a warning is about that says no more than the name. */
const IGNORED = /^unknown (?:body member|query parameter) /;

const warningsOf = ({ warnings, ignored }: Pick<Answer, 'warnings' | 'ignored'>): string[] => {
  if (warnings !== null)
    return warnings
      .split(', ')
      .map(
        (one) =>
          `${plain(one)}${/[?.]$/.test(one) ? '' : '.'}${IGNORED.test(one) ? ' The service ignored it.' : ''}`,
      );
  return ignored === null
    ? []
    : [
        `the service does not know these members of the request, and ignored them: ${plain(ignored)}. It may be of an earlier release.`,
      ];
};

const answerTo = async (
  connection: ApiConnection,
  request: ApiRequest,
  warn: (line: string) => void,
): Promise<Answer> => {
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
    const response = await send(connection, request, abort.signal);
    withoutNotice();
    inTime();
    inTime = giveUpAfter(BODY_WITHIN_MS, 'its answer did not end within');
    return await answerOf(response);
  } catch (error) {
    throw new Unavailable(explainNoAnswer(connection, error));
  } finally {
    withoutNotice();
    inTime();
  }
};

/** Sends a request. Rejects without an answer. */
export const send = (
  connection: ApiConnection,
  { method, path, query = {}, body, headers }: ApiRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  sendRequest(`${connection.url}${path}${queryOf(query)}`, {
    method,
    headers: {
      accept: ACCEPT_EXACT_NUMBERS,
      ...headers,
      authorization: `Bearer ${connection.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });

/** Reads the rest of a response. */
export const answerOf = async (response: IncomingMessage): Promise<Answer> => {
  const { statusCode: status = 0, headers } = response;
  return {
    ok: isSuccess(response),
    status,
    body: parseJson(await text(response)),
    retryAfter: headers['retry-after'] ?? null,
    ignored: headers[IGNORED_MEMBERS_HEADER.toLowerCase()]?.toString() ?? null,
    warnings: headers[WARNING_HEADER.toLowerCase()]?.toString() ?? null,
  };
};

export const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean =>
  statusCode >= 200 && statusCode < 300;

/** The error for an answer that is a refusal. */
export const refusal = (connection: ApiConnection, answer: Answer): CommandError => {
  const refused = refusalIn(answer);
  const because = explainAnswer(connection, answer, refused);
  const mayPass = answer.status === 429 || answer.status >= 500;
  return mayPass
    ? new Unavailable(because, milliseconds(answer.retryAfter), { refusal: refused })
    : new CommandError(because, { refusal: refused });
};

/** The service never sends a date in Retry-After. */
const milliseconds = (retryAfter: string | null): number | null =>
  retryAfter !== null && /^\d{1,7}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : null;

const queryOf = (query: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};
