import type { Problem } from '../operations.ts';
import { isObject, parsed } from './json.ts';
import {
  ApiError,
  NotFound,
  RateLimited,
  RunledgerError,
  Unavailable,
  ValidationError,
  type RefusalFacts,
} from '../errors.ts';

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

/** What an answer means that is not Runledger's, but that of a server in between. The client for Python has the same sentences. */

/** An answer, and the request that it answers. */
interface ForeignAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The address of the API, without a slash at the end. */
  readonly url: string;
  /** Of the request, after that address. */
  readonly path: string;
}

const IS_IT_REACHED =
  'Check that the gateway of Runledger is running, and that the server in front of it can reach it.';
const CHECK_URL =
  'Check that RUNLEDGER_URL (or url) is the address of the API, with its base path such as /api, and that what is in between lets requests with an API key pass.';
const WAITS_TOO_SHORT = 'Let it wait for more than 60 s, because a request may wait that long for a run.';

/** Those of 520 and more are Cloudflare's. They pass, so that a request may be sent again. */
const UNAVAILABLE: Readonly<Record<number, string>> = {
  502: `The server in front of Runledger got no valid answer from it. ${IS_IT_REACHED}`,
  503: `The server in front of Runledger says that it is not available. ${IS_IT_REACHED}`,
  504: `The server in front of Runledger got no answer from it in time. ${WAITS_TOO_SHORT}`,
  520: `Cloudflare got no valid answer from Runledger. ${IS_IT_REACHED}`,
  521: `Cloudflare was refused a connection to Runledger. ${IS_IT_REACHED}`,
  522: `Cloudflare got no connection to Runledger in time. ${IS_IT_REACHED}`,
  523: `Cloudflare finds no way to Runledger. ${IS_IT_REACHED}`,
  524: `Cloudflare got no answer from Runledger in time. ${WAITS_TOO_SHORT}`,
};

const OTHERS: Readonly<Record<number, string>> = {
  407: 'The proxy in between wants a user and a password. Name them in the setting of the proxy: http://user:password@host:port.',
  413: 'The server in front of Runledger takes no request of this size. Raise its limit, such as client_max_body_size of nginx.',
};

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const isUnavailable = (status: number): boolean => status in UNAVAILABLE;

/**
 * The answer, when it has this member. What is in between may answer with JSON of its own.
 *
 * @throws RunledgerError
 */
export const withMember = <Answer extends object>(answer: Answer, name: keyof Answer & string): Answer => {
  if (answer[name] !== undefined && answer[name] !== null) return answer;
  const text = JSON.stringify(answer).slice(0, LONGEST_QUOTE);
  throw new RunledgerError(`The answer has no ${name}, so it is not Runledger's: "${text}". ${CHECK_URL}`);
};

/** What it means and what to do, for people. */
const meaningOf = (answer: ForeignAnswer): string =>
  REDIRECTS.has(answer.status)
    ? redirectionOf(answer)
    : (UNAVAILABLE[answer.status] ?? OTHERS[answer.status] ?? contentOf(answer));

const redirectionOf = ({ headers, url, path }: ForeignAnswer): string => {
  const location = headers.get('location');
  if (location === null || !URL.canParse(location, `${url}${path}`))
    return `It redirects, and does not say where to. ${CHECK_URL}`;
  const target = new URL(location, `${url}${path}`);
  const begin = `It redirects to ${target.href.slice(0, LONGEST_QUOTE)}.`;
  const resource = path.split('?', 1)[0] ?? '';
  return target.pathname.endsWith(resource)
    ? `${begin} That is not followed, because the API key is for one address. If it is your service, set RUNLEDGER_URL (or url) to ${target.origin}${target.pathname.slice(0, -resource.length)}.`
    : `${begin} That is no address of the API: a login page or a proxy is in between. ${CHECK_URL}`;
};

/** Characters. */
const LONGEST_QUOTE = 200;

const contentOf = ({ headers, body }: ForeignAnswer): string => {
  const text = body.replaceAll(/\s+/g, ' ').trim();
  if (isPage(headers) || text.startsWith('<')) {
    const title = /<title>([^<]*)<\/title>/i.exec(text)?.[1]?.trim() ?? '';
    const named = title === '' ? '' : `, "${title.slice(0, LONGEST_QUOTE)}",`;
    return `A page (HTML)${named} came instead of an answer of Runledger: a login page, a proxy or another server is in between. ${CHECK_URL}`;
  }
  return text === ''
    ? `The answer is empty, so it is not Runledger's. ${CHECK_URL}`
    : `The answer is not Runledger's: "${text.slice(0, LONGEST_QUOTE)}". ${CHECK_URL}`;
};

export const isPage = (headers: Headers): boolean => (headers.get('content-type') ?? '').includes('html');

export const isJson = (headers: Headers): boolean => (headers.get('content-type') ?? '').includes('json');
