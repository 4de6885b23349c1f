import type { ApiError } from '@runledger/client/source';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { plain, shorten, CommandError, type ServiceRefusal } from '../command/command-error.ts';
import type { ApiConnection } from './connection.ts';

const ValidationDetail = Type.Object({
  detail: Type.Array(
    Type.Object({ loc: Type.Array(Type.Union([Type.String(), Type.Number()])), msg: Type.String() }),
  ),
});
const SentenceDetail = Type.Object({ detail: Type.String() });

const Coded = Type.Object({ code: Type.String(), request_id: Type.String() });

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

/** The error of a command for an answer that is a refusal. */
export const refusalOf = (connection: ApiConnection, error: ApiError): CommandError => {
  const refusal = refusalIn(error);
  const because = explainAnswer(connection, error, refusal);
  const { status, retryAfter } = error;
  return status === 429 || status >= 500
    ? new Unavailable(because, retryAfter === null ? null : retryAfter * 1_000, { refusal })
    : new CommandError(because, { refusal });
};

/** What an answer says for programs. */
const refusalIn = ({ status, body }: ApiError): ServiceRefusal => {
  if (!Value.Check(Coded, body)) return { status, code: null, request_id: null };
  return { status, code: shorten(plain(body.code), 64), request_id: shorten(plain(body.request_id), 128) };
};

/** Explains a refusal, and what to do about it. */
const explainAnswer = (
  connection: ApiConnection,
  answer: ApiError,
  { code, request_id }: ServiceRefusal,
): string => {
  const named = code === null ? '' : ` (${code}, request ${request_id})`;
  return answer.status === 422
    ? `The request was refused${named}:\n${validationLines(answer.body).join('\n')}`
    : `${explained(connection, answer, code)}${named}`;
};

/** Codes of a 404 for which another id does not help. */
const NOT_THE_ID: ReadonlySet<string | null> = new Set(['run_deleted', 'deployment_archived']);

/** Where what was given may be a name. */
const WHERE_TO_LOOK: Readonly<Record<string, string>> = {
  deployment_not_found: 'Check the name or the id. List them with: runledger deployments list.',
  workflow_version_not_found:
    'Check the number or the id. List them with: runledger workflows versions WORKFLOW.',
};

const explained = (connection: ApiConnection, answer: ApiError, code: string | null): string => {
  const { status, body } = answer;
  const detail = Value.Check(SentenceDetail, body)
    ? shorten(plain(body.detail).replace(/\.$/, ''), 500)
    : 'no reason given';
  const later =
    answer.retryAfter === null ? 'Try again in a moment.' : `Try again in ${answer.retryAfter} s.`;
  switch (status) {
    case 401:
      return `The API key from ${connection.source} was refused: ${detail}. Use a key of ${connection.url}: runledger login stores one, RUNLEDGER_API_KEY names one, or connection.json of a running standalone has it.`;
    case 403:
      return `The API key from ${connection.source} may not do this: ${detail}. Use a key with the required scope. An organisation's first key has all scopes except operator; runledger keys create --operator makes one with it.`;
    case 404:
      if (code === 'path_unknown') return `${detail}. ${CHECK_URL}`;
      if (NOT_THE_ID.has(code)) return `${connection.url} refused this: ${detail}.`;
      return `Not found at ${connection.url}: ${detail}. ${WHERE_TO_LOOK[code ?? ''] ?? 'Check the id.'} Records of other organisations are not found either.`;
    case 409:
      return `The present state does not allow this: ${detail}.`;
    case 413:
      return `The request is too large: ${detail}. Keep large values in files, and send their URLs.`;
    case 429:
      return `Too many requests: ${detail}. ${later}`;
    case 503:
      return `The service cannot do this now, and has not confirmed the request: ${detail}. ${later}`;
    case 507:
      return `A store of the service is full: ${detail}. Nothing was done.`;
    default:
      return `${connection.url} answered ${status}: ${detail}. ${status >= 500 ? `${later} If it does not help, see the gateway's log.` : CHECK_URL}`;
  }
};

const CHECK_URL = 'Check the URL: it must include the base path, such as /api.';

const validationLines = (body: unknown): string[] => {
  if (!Value.Check(ValidationDetail, body)) return ['  the answer gives no reason'];
  return body.detail.map(({ loc, msg }) => `  ${plain(loc.join('.'))}: ${plain(msg)}`);
};

/** Explains why there was no answer. */
export const explainNoAnswer = (connection: ApiConnection, error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const why =
    code === 'ECONNREFUSED'
      ? 'the connection was refused'
      : cause instanceof Error
        ? plain(cause.message || code)
        : String(cause);
  return `There is no answer from ${connection.url}: ${why}. Start a standalone (npm start), or name another server: RUNLEDGER_URL, --context.`;
};
