import type { Logger } from '@runledger/event-log/connect/observability';
import pLimit from 'p-limit';
import { openSweeps } from '../output-store.ts';
import type { ListedObject } from './named-objects.ts';
import { s3Objects } from './s3-objects.ts';
import { parsedName, elementsOf, textOf, type S3Requests } from './s3-requests.ts';

export interface S3ExpiryOptions {
  readonly requests: S3Requests;
  readonly bucket: string;
  /** Of the names of its objects. */
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
  let uploads: ReadonlySet<string> = new Set();
  return openSweeps(options.everyMs ?? SWEEP_EVERY_MS, async (signal) => {
    uploads = await sweep(options, uploads, signal);
  });
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
      await limit.map(names, s3Objects(requests).remove);
    }
    return await abortOldUploads(options, seen);
  } catch (err) {
    if (!signal.aborted) logger.warn({ err, bucket }, 'expired output files could not be removed');
    return seen;
  }
};

/** The names of what may go, some at a time. */
async function* expiredObjects(options: S3ExpiryOptions): AsyncGenerator<string[]> {
  const { requests, keepMs, now, prefix, listed: most } = options;
  const present = now().getTime();
  // The content whose description may be the next object.
  let content: (ListedObject & { readonly key: string }) | undefined;
  const withoutDescription = (): string[] =>
    content && content.storedMs < present - MAX_UPLOAD_MS ? [content.name] : [];
  for await (const page of s3Objects(requests).list(prefix, most)) {
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
