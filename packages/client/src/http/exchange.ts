import type { Bytes } from '../operations.ts';
import { ConnectionFailed, RunledgerError } from '../errors.ts';
import { refusalOf, type Asked } from './refusal.ts';
import type { Settings } from './settings.ts';

export interface ApiRequest {
  readonly method: string;
  /** After the base path, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Bytes | string;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the response must be there. */
  readonly timeoutMs: number;
}

/** A response that is no refusal. */
export interface Opened {
  readonly response: Response;
  readonly asked: Asked;
  /** Close it when the body has been read. */
  readonly limit: TimeLimit;
}

/** Sends a request once. @throws ApiError for a refusal, ConnectionFailed without a response, the reason of the signal */
export const openResponse = async (settings: Settings, request: ApiRequest): Promise<Opened> => {
  const { method, path, headers, body, signal, timeoutMs } = request;
  signal?.throwIfAborted();
  const asked = { about: nameOf(request), url: settings.url, path };
  const limit = timeLimit(timeoutMs, signal);
  try {
    const response = await settings.fetch(`${settings.url}${path}`, {
      method,
      headers: { ...headers, ...credentialsOf(settings) },
      // Memory that is shared between threads is refused by `fetch` itself.
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      signal: limit.signal,
      // The key is for one service.
      redirect: 'manual',
    });
    if (settings.onWarning) for (const sentence of warningsIn(response.headers)) settings.onWarning(sentence);
    if (response.type === 'opaqueredirect') throw hiddenRedirect(asked);
    if (!response.ok) throw await refusalOf(response, asked);
    return { response, asked, limit };
  } catch (error) {
    limit.close();
    throw failureOf(settings, request, error);
  }
};

/** A browser tells no page where a redirect leads to. */
const hiddenRedirect = ({ about, url }: Asked): RunledgerError =>
  new RunledgerError(
    `${about} was redirected by ${url}. That is not followed, because the API key is for one address. Open that address in the browser to see where it leads to, and set url to it, if it is the API.`,
  );

const credentialsOf = ({ apiKey }: Settings): Record<string, string> =>
  apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

/** Sends a request once, and reads its response. `read` may keep the limit. @throws as `openResponse` */
export const exchange = async <Result>(
  settings: Settings,
  request: ApiRequest,
  read: (opened: Opened) => Promise<Result>,
): Promise<Result> => {
  const opened = await openResponse(settings, request);
  try {
    return await read(opened);
  } catch (error) {
    opened.limit.close();
    throw failureOf(settings, request, error);
  }
};

/** What to throw for what was thrown while a request was sent or its response was read. */
export const failureOf = ({ url }: Pick<Settings, 'url'>, request: ApiRequest, error: unknown): unknown => {
  if (request.signal?.aborted === true) return request.signal.reason;
  if (error instanceof RunledgerError) return error;
  const message = `${nameOf(request)} has no whole response from ${url}: ${reasonOf(error)}.`;
  return new ConnectionFailed(message, { cause: error });
};

const nameOf = ({ method, path }: ApiRequest): string => `${method} ${path.split('?', 1)[0]}`;

/** Node hides the reason in the cause. */
const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
};

/** Aborts a request when it takes too long, or when the caller aborts it. */
interface TimeLimit {
  readonly signal: AbortSignal;
  /** So many milliseconds from now on. */
  readonly extend: (ms: number) => void;
  /** From now on only the signal of the caller aborts it. */
  readonly lift: () => void;
  /** When the request is over: nothing aborts it any more. */
  readonly close: () => void;
}

/** `AbortSignal.any` and `AbortSignal.timeout` would leave a listener on a signal that lives long. */
const timeLimit = (ms: number, caller: AbortSignal | undefined): TimeLimit => {
  const abort = new AbortController();
  const endAfter = (ms: number): ReturnType<typeof setTimeout> =>
    setTimeout(() => abort.abort(new Error(`nothing came for ${ms / 1_000} s`)), ms);
  let timer = endAfter(ms);
  const onAbort = (): void => abort.abort(caller?.reason);
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: abort.signal,
    extend: (ms) => {
      clearTimeout(timer);
      timer = endAfter(ms);
    },
    lift: () => clearTimeout(timer),
    close: () => {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
};

/** Sentences of the service about names in a request, separated by commas. */
const WARNINGS = 'Runledger-Warning';
/** What releases before that name had: the members alone. */
const IGNORED_MEMBERS = 'Runledger-Ignored-Members';
/** What a warning is about that says no more than the name. */
const IGNORED = /^unknown (?:body member|query parameter) /;

/** What the service ignored in a request, a sentence for each name. */
const warningsIn = (headers: Headers): string[] => {
  const warnings = headers.get(WARNINGS);
  if (warnings !== null) return warnings.split(', ').map(sentenceOf);
  const members = headers.get(IGNORED_MEMBERS);
  return members === null
    ? []
    : [
        `the service does not know these members of the request, and ignored them: ${members}. It may be of an earlier release.`,
      ];
};

const sentenceOf = (warning: string): string =>
  `${warning}${/[?.]$/.test(warning) ? '' : '.'}${IGNORED.test(warning) ? ' The service ignored it.' : ''}`;
