import type { Problem } from '../api/schemas.ts';
import { isObject, parsed } from '../json/json.ts';
import {
  ApiError,
  NotFound,
  RateLimited,
  RunledgerError,
  Unavailable,
  ValidationError,
  type RefusalFacts,
} from './errors.ts';
import { isUnavailable, meaningOf, type ForeignAnswer } from './foreign-answer.ts';

const LONGEST_DETAIL = 500;

/** Where a response comes from. */
export interface Asked extends Pick<ForeignAnswer, 'url' | 'path'> {
  /** The request, for people. */
  readonly about: string;
}

/** The error for a response that is a refusal. It reads the body. */
export const refusalOf = async (response: Response, { about, url, path }: Asked): Promise<ApiError> => {
  const text = await response.text().catch(() => '');
  const { status, headers } = response;
  const body = parsed(text);
  const problems = problemsIn(body);
  const given = textIn(body, 'detail');
  const facts: RefusalFacts = {
    status,
    code: textIn(body, 'code'),
    detail: problems
      ? problems.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('\n')
      : (given?.slice(0, LONGEST_DETAIL) ?? unsaid({ status, headers, body: text, url, path })),
    requestId: textIn(body, 'request_id') ?? headers.get('x-request-id'),
    retryAfter: secondsOf(headers.get('retry-after')),
    body,
  };
  const message = messageOf(about, facts, problems);
  // Only Runledger itself knows that it has no such record.
  if (status === 404 && given === null) return new ApiError(message, facts);
  return errorOf(message, facts, problems);
};

/** The error for a success that something in between answered. */
export const foreignSuccess = (
  { status, headers }: Response,
  { about, url, path }: Asked,
  body: string,
): RunledgerError =>
  new RunledgerError(
    `${about} was answered with ${status}: ${meaningOf({ status, headers, body, url, path })}`,
  );

/** It has no body, and no reason: what the caller has is still so. */
const NOT_MODIFIED = 304;

const unsaid = (answer: ForeignAnswer): string =>
  answer.status === NOT_MODIFIED ? 'not modified' : meaningOf(answer);

const errorOf = (
  message: string,
  facts: RefusalFacts,
  problems: readonly Problem[] | undefined,
): ApiError => {
  switch (facts.status) {
    case 404:
      return new NotFound(message, facts);
    case 422:
      return new ValidationError(message, facts, problems ?? []);
    case 429:
      return new RateLimited(message, facts);
    default:
      return isUnavailable(facts.status) ? new Unavailable(message, facts) : new ApiError(message, facts);
  }
};

const messageOf = (
  about: string,
  { status, detail, requestId }: RefusalFacts,
  problems: readonly Problem[] | undefined,
): string => {
  const request = requestId === null ? '' : ` (request ${requestId})`;
  return `${about} was refused with ${status}:${problems ? '\n' : ' '}${detail}${request}`;
};

const textIn = (body: unknown, name: string): string | null => {
  const value = isObject(body) ? body[name] : undefined;
  return typeof value === 'string' ? value : null;
};

const problemsIn = (body: unknown): readonly Problem[] | undefined => {
  const detail = isObject(body) ? body['detail'] : undefined;
  return Array.isArray(detail) ? detail.filter(isProblem) : undefined;
};

const isProblem = (value: unknown): value is Problem =>
  isObject(value) && Array.isArray(value['loc']) && typeof value['msg'] === 'string';

/** The service never sends a date. */
const secondsOf = (retryAfter: string | null): number | null =>
  retryAfter !== null && /^\d{1,7}$/.test(retryAfter) ? Number(retryAfter) : null;
