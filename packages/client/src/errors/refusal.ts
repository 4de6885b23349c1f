import type { Problem } from '../api/schemas.ts';
import { isObject, parsed } from '../json/json.ts';
import {
  ApiError,
  NotFound,
  RateLimited,
  Unavailable,
  ValidationError,
  type RefusalFacts,
} from './errors.ts';

/** A proxy may answer with a page. */
const LONGEST_DETAIL = 500;

/** The error for a response that is a refusal. It reads the body. */
export const refusalOf = async (response: Response, about: string): Promise<ApiError> => {
  const body = parsed(await response.text().catch(() => ''));
  const problems = problemsIn(body);
  const facts: RefusalFacts = {
    status: response.status,
    code: textIn(body, 'code'),
    detail: problems
      ? problems.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('\n')
      : (textIn(body, 'detail') ?? 'no reason given').slice(0, LONGEST_DETAIL),
    requestId: textIn(body, 'request_id') ?? response.headers.get('x-request-id'),
    retryAfter: secondsOf(response.headers.get('retry-after')),
  };
  return errorOf(messageOf(about, facts, problems), facts, problems);
};

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
    case 502:
    case 503:
    case 504:
      return new Unavailable(message, facts);
    default:
      return new ApiError(message, facts);
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
