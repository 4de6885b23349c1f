import { rm } from 'node:fs/promises';
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
import { codeOf } from '@runledger/resilience/errors';
import {
  isTooLarge,
  nameInDisposition,
  nameInUrl,
  noPart,
  notFetched,
  saveBody,
  TooLarge,
  type FetchedFile,
  type FileToFetch,
  type PartOfFile,
} from './input-file.ts';

/** Fetches the file of a URL under the policy for addresses. */
export type FetchUrl = (url: string, file: FileToFetch, stop: AbortSignal) => Promise<FetchedFile>;

const MAX_REDIRECTS = 5;
const TRY_AGAIN_AFTER_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1_024;
const IDLE_MS = 30_000;
/** A file of many of these comes through a connection that breaks again and again. */
const IS_PROGRESS = 1024 ** 2;

interface UrlFetcherSettings extends Egress {
  /** For one try, with its redirects. */
  readonly withinMs: number;
  /** Without progress. The first wait is one second, each further one twice as long. */
  readonly maxTries: number;
}

/**
 * A try continues what the one before has saved, where the server can do that, and says by an ETag that it is the same file.
 * @throws {RangeError} for an invalid proxy
 */
export const openUrlFetcher = ({ withinMs, maxTries, ...egress }: UrlFetcherSettings): FetchUrl => {
  const fetching: Fetching = { connect: openChecked(egress), withinMs };
  return async (url, file, stop) => {
    const part = file.part ?? noPart();
    let most = part.bytes;
    for (let tries = 1; ; tries += 1) {
      const fetched = await fetchOnce(fetching, url, file, part, stop);
      if (part.bytes > most + IS_PROGRESS) [tries, most] = [1, part.bytes];
      const mayTryAgain = fetched.kind === 'failed' && fetched.again && tries < maxTries;
      if (fetched.kind !== 'failed') return fetched;
      if (!mayTryAgain) return notFetched(file, fetched.why, fetched.retryable);
      await pause(TRY_AGAIN_AFTER_MS * 2 ** (tries - 1), undefined, { signal: stop }).catch(() => undefined);
    }
  };
};

interface Fetching {
  readonly connect: OpenChecked;
  readonly withinMs: number;
}

interface Failed {
  readonly kind: 'failed';
  readonly why: string;
  readonly retryable: boolean;
  /** Another try at once may help. */
  readonly again: boolean;
}

const failed = (why: string, retryable: boolean, again = retryable): Failed => ({
  kind: 'failed',
  why,
  retryable,
  again,
});

/** Never rejects because of the other side, and always ends in time. */
const fetchOnce = async (
  fetching: Fetching,
  text: string,
  file: FileToFetch,
  part: PartOfFile,
  stop: AbortSignal,
): Promise<FetchedFile | Failed> => {
  using limit = limitTime(fetching.withinMs, [stop]);
  let clock = startStopwatch('dns');
  let host = 'the host';
  let redirectedBy: string | undefined;
  if (part.etag === null && file.part === undefined) Object.assign(part, noPart());
  try {
    let url = readUrl(text);
    const { origin } = url;
    let isOwn = true;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      host = url.host;
      clock = startStopwatch('dns');
      isOwn &&= url.origin === origin;
      const own = isOwn && file.headers !== undefined ? await file.headers(url) : {};
      const incoming = await get(fetching, url, { own, range: rangeBehind(part) }, clock, limit.signal);
      const status = incoming.statusCode ?? 0;
      if (status === 200 || (status === 206 && part.bytes > 0)) return await save(incoming, url, file, part);
      incoming.destroy();
      if (status === 416 && part.bytes > 0) {
        Object.assign(part, noPart());
        return failed(`${host} does not have what follows what has arrived before (416).`, true);
      }
      const next = status >= 300 && status < 400 ? incoming.headers.location : undefined;
      if (next === undefined) return failed(`${host} answered ${status}.`, isTemporary(status));
      redirectedBy ??= host;
      url = readUrl(next, url);
    }
    return failed(`${host} redirects more than ${MAX_REDIRECTS} times.`, false);
  } catch (error) {
    if (stop.aborted) return { kind: 'stopped' };
    if (error instanceof TooLarge) return isTooLarge(file);
    if (FULL.has(codeOf(error))) {
      // Others need the room that a file takes which cannot become whole.
      await rm(file.path, { force: true });
      return failed('the disk of the executor has no room for it. Its operator can make room.', true, false);
    }
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

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** With an ETag the server sends all of another file. */
const rangeBehind = ({ bytes, etag }: PartOfFile): Readonly<Record<string, string>> =>
  bytes === 0 ? {} : { range: `bytes=${bytes}-`, ...(etag === null ? {} : { 'if-range': etag }) };

const readUrl = (text: string, base?: URL): URL => {
  const url = URL.parse(text, base?.href);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new SendFailure('forbidden', 'The address is no http or https URL.');
};

const isTemporary = (status: number): boolean => status === 408 || status === 429 || status >= 500;

interface AskedWith {
  /** Of who asks. What this client says itself wins. */
  readonly own: Readonly<Record<string, string>>;
  readonly range: Readonly<Record<string, string>>;
}

/** The response to a request whose address was checked, and whose peer was checked before anything was sent. */
const get = async (
  fetching: Fetching,
  url: URL,
  { own, range }: AskedWith,
  clock: Stopwatch,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const socket = await fetching.connect(url, clock, signal);
  clock.enter('wait');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest({
    method: 'GET',
    path: `${url.pathname}${url.search}`,
    headers: {
      accept: '*/*',
      ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name.toLowerCase(), value])),
      host: url.host,
      'accept-encoding': 'identity',
      connection: 'close',
      ...range,
    },
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
  part: PartOfFile,
): Promise<FetchedFile> => {
  const {
    etag,
    'content-disposition': disposition,
    'content-range': range,
    'content-type': content_type = '',
  } = incoming.headers;
  const isBehind = incoming.statusCode === 206 && range?.startsWith(`bytes ${part.bytes}-`) === true;
  if (!isBehind) Object.assign(part, noPart());
  if (incoming.statusCode === 206 && !isBehind)
    throw new SendFailure('malformed_answer', `${url.host} sent another part than it was asked for.`);
  part.etag = etag?.startsWith('"') === true ? etag : null;
  const { bytes } = await saveBody(incoming, path, maxBytes, part);
  return { kind: 'fetched', bytes, filename: nameInDisposition(disposition) || nameInUrl(url), content_type };
};
