import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { openChecked, type Egress, type OpenChecked } from '@runledger/webhooks/checked-connection';
import {
  failureOf,
  failureOfEnd,
  SendFailure,
  startStopwatch,
  type Stopwatch,
  limitTime,
} from '@runledger/webhooks/failure-reason';
import {
  nameInDisposition,
  nameInUrl,
  notFetched,
  type FetchedFile,
  tooLarge,
  type FileToFetch,
  saveBody,
  TooLarge,
} from './input-file.ts';

/** Fetches the file of a URL under the policy for addresses. */
export type FetchUrl = (url: string, file: FileToFetch, stop: AbortSignal) => Promise<FetchedFile>;

const MAX_REDIRECTS = 5;
const MAX_TRIES = 3;
const TRY_AGAIN_AFTER_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1_024;
const IDLE_MS = 30_000;

/** @throws {RangeError} for an invalid proxy */
export const openUrlFetcher = ({
  withinMs,
  ...egress
}: Egress & { /** For one file, with its redirects. */ readonly withinMs: number }): FetchUrl => {
  const fetching: Fetching = { connect: openChecked(egress), withinMs };
  return async (url, file, stop) => {
    for (let tries = 1; ; tries += 1) {
      const fetched = await fetchOnce(fetching, url, file, stop);
      const mayTryAgain = fetched.kind === 'refused' && fetched.error.retryable && tries < MAX_TRIES;
      if (!mayTryAgain) return fetched;
      await pause(TRY_AGAIN_AFTER_MS * tries, undefined, { signal: stop }).catch(() => undefined);
    }
  };
};

interface Fetching {
  readonly connect: OpenChecked;
  readonly withinMs: number;
}

/** Never rejects because of the other side, and always ends in time. */
const fetchOnce = async (
  fetching: Fetching,
  text: string,
  file: FileToFetch,
  stop: AbortSignal,
): Promise<FetchedFile> => {
  const failed = (why: string, retryable: boolean): FetchedFile =>
    notFetched(`The file of input ${file.input} cannot be fetched: ${why}`, retryable);
  using limit = limitTime(fetching.withinMs, [stop]);
  let clock = startStopwatch('dns');
  let host = 'the host';
  let redirectedBy: string | undefined;
  try {
    let url = readUrl(text);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      host = url.host;
      clock = startStopwatch('dns');
      const incoming = await get(fetching, url, clock, limit.signal);
      const status = incoming.statusCode ?? 0;
      if (status === 200) return await save(incoming, url, file);
      incoming.destroy();
      const next = status >= 300 && status < 400 ? incoming.headers.location : undefined;
      if (next === undefined) return failed(`${host} answered ${status}.`, isTemporary(status));
      redirectedBy ??= host;
      url = readUrl(next, url);
    }
    return failed(`${host} redirects more than ${MAX_REDIRECTS} times.`, false);
  } catch (error) {
    if (stop.aborted) return { kind: 'stopped' };
    if (error instanceof TooLarge) return notFetched(tooLarge(file.input, file.maxBytes), false);
    const { reason, message } =
      limit.ended === undefined
        ? failureOf(error, clock.stage, host)
        : failureOfEnd(limit.ended, clock.stage, host, fetching.withinMs);
    // The client did not write the address behind a redirect, and must not learn it.
    if (reason === 'forbidden' && redirectedBy !== undefined)
      return failed(
        `${redirectedBy} redirects to a URL that the policy for addresses does not allow.`,
        false,
      );
    return failed(message, reason !== 'forbidden' && reason !== 'name_not_found');
  }
};

const readUrl = (text: string, base?: URL): URL => {
  const url = URL.parse(text, base?.href);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new SendFailure('forbidden', 'The address is no http or https URL.');
};

const isTemporary = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** The response to a request whose address was checked, and whose peer was checked before anything was sent. */
const get = async (
  fetching: Fetching,
  url: URL,
  clock: Stopwatch,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const socket = await fetching.connect(url, clock, signal);
  clock.enter('wait');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest({
    method: 'GET',
    path: `${url.pathname}${url.search}`,
    headers: { host: url.host, accept: '*/*', 'accept-encoding': 'identity', connection: 'close' },
    createConnection: () => socket,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    timeout: IDLE_MS,
    signal,
  });
  request.on('timeout', () =>
    request.destroy(new SendFailure('timed_out', `${url.host} sent nothing for 30 s.`)),
  );
  request.on('error', reject);
  request.once('upgrade', (_response, upgraded) => {
    upgraded.destroy();
    reject(new SendFailure('malformed_answer', `${url.host} switched protocols (101).`));
  });
  request.once('response', (response) => {
    clock.enter('body');
    resolve(response);
  });
  request.end();
  return promise;
};

const save = async (
  incoming: IncomingMessage,
  url: URL,
  { path, maxBytes }: FileToFetch,
): Promise<FetchedFile> => {
  const { 'content-disposition': disposition, 'content-type': content_type = '' } = incoming.headers;
  const { bytes } = await saveBody(incoming, path, maxBytes);
  return { kind: 'fetched', bytes, filename: nameInDisposition(disposition) || nameInUrl(url), content_type };
};
