import type { Static, TSchema } from 'typebox';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { explainAnswer, explainNoAnswer } from './api-problem.ts';
import type { ApiConnection } from './connection.ts';
import { CommandError } from '../output/command-error.ts';
import { parseJson } from '../options/parse-json.ts';

const ANSWER_WITHIN_MS = 30_000;

/** No answer, or one that asks for patience: the same request may succeed later. */
export class Unavailable extends CommandError {
  /** As the service asks for it; null when it does not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Behind the base path; what it holds of others is encoded by `at`. */
  readonly path: string;
  /** Members that are undefined are left out, here and in the body. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a request that the service may hold back. */
  readonly answerWithinMs?: number;
}

/** Answers what fits the schema. Every other answer is thrown as Explained, one that may pass as Unavailable. */
export type ApiCall = <Schema extends TSchema>(
  schema: Schema,
  request: ApiRequest,
) => Promise<Static<Schema>>;

/** Of an answer without a body. */
export const Nothing = Type.Undefined();

/** A path with what others gave encoded. */
export const at = (texts: TemplateStringsArray, ...given: readonly string[]): string =>
  String.raw({ raw: texts }, ...given.map(encodeURIComponent));

export const apiCall =
  (connection: ApiConnection): ApiCall =>
  async (schema, request) => {
    const answer = await answerTo(connection, request);
    if (!answer.ok) throw refusal(connection, answer);
    if (Value.Check(schema, answer.body)) return answer.body;
    throw new CommandError(
      `${connection.url}${request.path} answered with something that this release does not understand. Use the same release of both.`,
    );
  };

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

const answerTo = async (connection: ApiConnection, request: ApiRequest): Promise<Answer> => {
  const { answerWithinMs = ANSWER_WITHIN_MS } = request;
  try {
    return await answerOf(await send(connection, request, AbortSignal.timeout(answerWithinMs)));
  } catch (error) {
    throw new Unavailable(explainNoAnswer(connection, error));
  }
};

/** The response as it comes. Rejects when there is none. */
export const send = (
  connection: ApiConnection,
  { method, path, query = {}, body, headers }: ApiRequest,
  signal: AbortSignal,
): Promise<Response> =>
  fetch(`${connection.url}${path}${queryOf(query)}`, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${connection.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal,
  });

export const answerOf = async (response: Response): Promise<Answer> => {
  const { ok, status, headers } = response;
  return { ok, status, body: parseJson(await response.text()), retryAfter: headers.get('retry-after') };
};

/** What is thrown for an answer that is a no. */
export const refusal = (connection: ApiConnection, answer: Answer): CommandError => {
  const because = explainAnswer(connection, answer);
  const mayPass = answer.status === 429 || answer.status >= 500;
  return mayPass ? new Unavailable(because, milliseconds(answer.retryAfter)) : new CommandError(because);
};

/** Dates, which Retry-After may hold too, are not what the service sends. */
const milliseconds = (retryAfter: string | null): number | null =>
  retryAfter !== null && /^\d{1,7}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : null;

const queryOf = (query: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};
