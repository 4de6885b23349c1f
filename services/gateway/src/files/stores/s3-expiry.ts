import type { Logger } from '@runledger/event-log/connect/observability';
import pLimit from 'p-limit';
import { parsedName, elementsOf, textOf, type S3Requests } from './s3-requests.ts';

export interface S3ExpiryOptions {
  readonly requests: S3Requests;
  readonly bucket: string;
  readonly prefix: string;
  /** Older files are removed. */
  readonly keepMs: number;
  readonly now: () => Date;
  readonly logger: Logger;
  /** Six hours when it is left out. */
  readonly everyMs?: number;
  /** Objects in one list; as many as the store gives when it is left out. */
  readonly listed?: number;
}

/** A thousand objects are a request, so it is done seldom. Nobody finds a file that has expired meanwhile. Longer than any upload. */
const SWEEP_EVERY_MS = 6 * 3_600_000;
/** No upload takes longer: a request may last an hour. */
const MAX_UPLOAD_MS = 24 * 3_600_000;
const MAX_CONCURRENT = 8;

/**
 * Removes expired files now and every six hours, and incomplete ones of gateways that crashed. Several gateways may do so at once. A rule of
 * the bucket that removes objects as old does no harm.
 */
export const openS3Expiry = (options: S3ExpiryOptions): AsyncDisposable => {
  const stopping = new AbortController();
  const { signal } = stopping;
  let uploads: ReadonlySet<string> = new Set();
  const sweepOnce = async (): Promise<void> => {
    uploads = await sweep(options, uploads, signal);
  };
  let sweeping = sweepOnce();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweepOnce);
  }, options.everyMs ?? SWEEP_EVERY_MS).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      stopping.abort();
      await sweeping;
    },
  };
};

/** `seen`: the uploads of the sweep before. Those of this one. */
const sweep = async (
  options: S3ExpiryOptions,
  seen: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const { bucket, logger, requests } = options;
  const limit = pLimit(MAX_CONCURRENT);
  try {
    for await (const names of expiredObjects(options)) {
      if (signal.aborted) return seen;
      await limit.map(names, (name) => requests.ask({ method: 'DELETE', name }));
    }
    return await abortOldUploads(options, seen);
  } catch (err) {
    if (!signal.aborted) logger.warn({ err, bucket }, 'expired output files could not be removed');
    return seen;
  }
};

interface Listed {
  readonly name: string;
  readonly storedMs: number;
}

/** The names of what may go, some at a time. */
async function* expiredObjects(options: S3ExpiryOptions): AsyncGenerator<string[]> {
  const { keepMs, now, prefix } = options;
  const present = now().getTime();
  // The content whose description may be the next object.
  let content: (Listed & { readonly key: string }) | undefined;
  const withoutDescription = (): string[] =>
    content && content.storedMs < present - MAX_UPLOAD_MS ? [content.name] : [];
  for await (const page of listedUnder(options)) {
    const expired: string[] = [];
    for (const listed of page) {
      const about = parsedName(prefix, listed.name);
      // Not ours. The prefix should have nothing else, and it stays.
      if (!about) continue;
      const isOfContent = about.part === 'description' && content?.key === about.key;
      if (!isOfContent) expired.push(...withoutDescription());
      if (about.part === 'description' && listed.storedMs < present - keepMs)
        expired.push(listed.name, ...(isOfContent && content ? [content.name] : []));
      content = about.part === 'content' ? { ...listed, key: about.key } : undefined;
    }
    yield expired;
  }
  yield withoutDescription();
}

async function* listedUnder({
  requests,
  prefix,
  listed,
}: S3ExpiryOptions): AsyncGenerator<readonly Listed[]> {
  let token: string | undefined;
  do {
    const from = token === undefined ? {} : { 'continuation-token': token };
    const most = listed === undefined ? {} : { 'max-keys': String(listed) };
    const query = { 'list-type': '2', prefix, ...most, ...from };
    const { text } = await requests.ask({ method: 'GET', query });
    yield elementsOf(text, 'Contents').map((found) => ({
      name: textOf(found, 'Key') ?? '',
      storedMs: Date.parse(textOf(found, 'LastModified') ?? ''),
    }));
    token = textOf(text, 'NextContinuationToken');
  } while (token !== undefined);
}

/**
 * Those that were there in the sweep before: no upload takes so long, whatever the store's clock says. Up to a thousand each time. MinIO
 * lists none, and ends them itself after a day.
 */
const abortOldUploads = async (
  { requests: { ask }, prefix }: S3ExpiryOptions,
  seen: ReadonlySet<string>,
): Promise<ReadonlySet<string>> => {
  const { text } = await ask({ method: 'GET', query: { uploads: '', prefix } });
  const there = new Set<string>();
  for (const upload of elementsOf(text, 'Upload')) {
    const [name, uploadId] = [textOf(upload, 'Key'), textOf(upload, 'UploadId')];
    if (!name || !uploadId || !parsedName(prefix, name)) continue;
    if (seen.has(uploadId)) await ask({ method: 'DELETE', name, query: { uploadId } });
    else there.add(uploadId);
  }
  return there;
};
