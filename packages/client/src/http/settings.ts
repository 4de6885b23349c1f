import { RunledgerError } from '../errors.ts';
import { environment, fetchTo } from './environment-proxy.ts';

/** How the API is reached. */
export interface RunledgerOptions {
  /** With the base path, such as `http://127.0.0.1:8080/api`; RUNLEDGER_URL when left out. */
  readonly url?: string | undefined;
  /** Of a `url` without a path: `/api` when left out, as a standalone has it; an empty text for an API at the root. */
  readonly basePath?: string | undefined;
  /**
   * An API key; in a browser a token of a run. RUNLEDGER_API_KEY when left out. Null sends none: the page of the service itself gives a
   * `fetch` that sends its session.
   */
  readonly apiKey?: string | null | undefined;
  /** Instead of the global one, which in Node goes through the proxy of HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY. */
  readonly fetch?: typeof fetch | undefined;
  /** Milliseconds until a response must be there, for each try: 30,000 when left out. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent again at most, where that is safe: 5 when left out. */
  readonly retries?: number | undefined;
  /** Called for each name in a request that the service ignored, such as one that is misspelt, with a sentence about it. */
  readonly onWarning?: ((sentence: string) => void) | undefined;
}

export interface Settings {
  /** With the base path, without a slash at the end. */
  readonly url: string;
  /** Null for none. */
  readonly apiKey: string | null;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly onWarning: ((sentence: string) => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Timers hold no more. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const DEFAULT_RETRIES = 5;
/** A standalone and the examples of the documentation have it. */
const DEFAULT_BASE_PATH = '/api';

/** @throws RunledgerError for what is missing or invalid */
export const readSettings = (options: RunledgerOptions): Settings => {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES, basePath = DEFAULT_BASE_PATH } = options;
  const apiKey = options.apiKey === null ? null : given('apiKey', options.apiKey, 'RUNLEDGER_API_KEY');
  if (apiKey !== null && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new RunledgerError(
      'The API key has characters that no key has, such as a space or a line end. Copy it again.',
    );
  if (!(timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS))
    throw new RunledgerError(
      `timeoutMs is ${timeoutMs}. Give a number of milliseconds over 0, such as 30000.`,
    );
  if (!Number.isSafeInteger(retries) || retries < 0)
    throw new RunledgerError(`retries is ${retries}. Give a whole number; 0 sends each request once.`);
  const url = checkedUrl(given('url', options.url, 'RUNLEDGER_URL'), basePath);
  return {
    url,
    apiKey,
    fetch: options.fetch ?? fetchTo(new URL(url)),
    timeoutMs,
    retries,
    onWarning: options.onWarning,
  };
};

const given = (name: string, value: string | undefined, variable: string): string => {
  const found = value ?? environment()[variable];
  if (found !== undefined && found !== '') return found;
  throw new RunledgerError(
    `There is no ${name} of Runledger. Give it to new Runledger({ ${name}: … }), or set ${variable}. A standalone prints both when it starts.`,
  );
};

const checkedUrl = (text: string, basePath: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new RunledgerError(
      `"${text}" is not the URL of an API. It has the form http://127.0.0.1:8080/api, with the base path.`,
    );
  if (url.username !== '' || url.password !== '')
    throw new RunledgerError(
      'The URL of the API has a user or a password in it. Give the API key as apiKey instead.',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '') || basePath}`;
};
