import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { plain, shorten } from '../output/plain-text.ts';
import type { ApiConnection } from './connection.ts';

const ValidationDetail = Type.Object({
  detail: Type.Array(
    Type.Object({ loc: Type.Array(Type.Union([Type.String(), Type.Number()])), msg: Type.String() }),
  ),
});
const SentenceDetail = Type.Object({ detail: Type.String() });

/** In sentences: what an answer that is a no means, and what to do about it. */
export const explainAnswer = (
  connection: ApiConnection,
  answer: { readonly status: number; readonly body: unknown; readonly retryAfter: string | null },
): string => {
  const { status, body } = answer;
  const said = Value.Check(SentenceDetail, body) ? shorten(plain(body.detail), 500) : `status ${status}`;
  const later =
    answer.retryAfter === null ? 'Try again in a moment.' : `Try again in ${plain(answer.retryAfter)} s.`;
  switch (status) {
    case 401:
      return `The API key from ${connection.source} was refused (${said}). Use a key of ${connection.url}: RUNLEDGER_API_KEY, or connection.json of a running standalone.`;
    case 403:
      return `The API key from ${connection.source} may not do this (${said}). Use a key with the scope that it needs: an organisation's first key has all but operator, which runledger keys create --operator gives.`;
    case 404:
      return `${connection.url} does not know it (${said}). Check the id; what belongs to another organisation is not found either.`;
    case 409:
      return `This cannot be done as things stand (${said}).`;
    case 413:
      return `The request is too large (${said}). Leave large values in files, and send their URLs.`;
    case 422:
      return `The request was refused:\n${validationLines(body).join('\n')}`;
    case 429:
      return `Too much was asked at once (${said}). ${later}`;
    case 503:
      return `The service cannot do this right now (${said}), and has not confirmed the request. ${later}`;
    default:
      return `${connection.url} answered ${status} (${said}). ${status >= 500 ? `${later} If it stays so, see the gateway's log.` : 'Check RUNLEDGER_URL: it has to include the base path, such as /api.'}`;
  }
};

const validationLines = (body: unknown): string[] => {
  if (!Value.Check(ValidationDetail, body)) return ['  it does not say why'];
  return body.detail.map(({ loc, msg }) => `  ${plain(loc.join('.'))}: ${plain(msg)}`);
};

/** In sentences: why there was no answer at all. */
export const explainNoAnswer = (connection: ApiConnection, error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const why =
    code === 'ECONNREFUSED'
      ? 'the connection was refused'
      : cause instanceof Error
        ? plain(cause.message || code)
        : String(cause);
  return `Nothing answers at ${connection.url}: ${why}. Is it running? Start it (npm start), or set RUNLEDGER_URL to where it runs.`;
};
