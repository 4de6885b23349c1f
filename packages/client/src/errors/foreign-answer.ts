/** What an answer means that is not Runledger's, but that of a server in between. The client for Python has the same sentences. */

import { RunledgerError } from './errors.ts';

/** An answer, and the request that it answers. */
export interface ForeignAnswer {
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

export const isUnavailable = (status: number): boolean => status in UNAVAILABLE;

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
export const meaningOf = (answer: ForeignAnswer): string =>
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
