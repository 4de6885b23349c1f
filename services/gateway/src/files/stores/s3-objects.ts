import type { NamedObjects } from './named-objects.ts';
import { elementsOf, escaped, textOf, S3Failure, type S3Requests } from './s3-requests.ts';

const READ_WITHIN_MS = 10_000;

/** Those whose names begin with `before`, which callers leave out. They throw S3Failure and S3Unreachable. */
export const s3Objects = ({ ask, bucket }: S3Requests, before = ''): NamedObjects => ({
  put: async (name, body, content_type = 'application/octet-stream') => {
    await ask({ method: 'PUT', name: before + name, headers: { 'content-type': content_type }, body });
  },
  get: async (name) => {
    try {
      return (await ask({ method: 'GET', name: before + name, withinMs: READ_WITHIN_MS, most: Infinity }))
        .bytes;
    } catch (error) {
      if (error instanceof S3Failure && error.code === 'NoSuchKey') return undefined;
      throw error;
    }
  },
  remove: async (name) => void (await ask({ method: 'DELETE', name: before + name })),
  list: async function* (begin, most) {
    let token: string | undefined;
    do {
      const from = token === undefined ? {} : { 'continuation-token': token };
      const listed = most === undefined ? {} : { 'max-keys': String(most) };
      const query = { 'list-type': '2', prefix: before + begin, ...listed, ...from };
      const { text } = await ask({ method: 'GET', query });
      yield elementsOf(text, 'Contents').map((found) => ({
        name: (textOf(found, 'Key') ?? '').slice(before.length),
        storedMs: Date.parse(textOf(found, 'LastModified') ?? ''),
      }));
      token = textOf(text, 'NextContinuationToken');
    } while (token !== undefined);
  },
  placeOf: (name) => `${before}${name} in the bucket ${bucket}`,
});

/** In memory for each file that is being stored, twice for a moment. S3 wants 5 MiB or more, and some stores want all parts alike. */
const PART_BYTES = 8 * 1024 * 1024;
/** Of S3. */
const MAX_PARTS = 10_000;
const PART_WITHIN_MS = 60_000;
/** The store puts all parts together. */
const COMPLETE_WITHIN_MS = 120_000;

/** The file would have more parts than S3 allows. */
class TooManyParts extends Error {
  override readonly name = 'TooManyParts';

  constructor() {
    super(`a file has at most ${(MAX_PARTS * PART_BYTES) / 1024 ** 3} GiB there`);
  }
}

/**
 * Stores an object: in one request, or in parts when it is large. It exists when its last byte is stored; after an error
 * it may exist. @throws {TooManyParts} and what `ask` throws
 */
export const putContent = async (
  { ask }: S3Requests,
  { name, content_type }: { readonly name: string; readonly content_type: string },
  body: AsyncIterable<Uint8Array>,
): Promise<void> => {
  const headers = { 'content-type': content_type };
  const parts = partsOf(body)[Symbol.asyncIterator]();
  const first = await parts.next();
  const whole = first.done ? new Uint8Array() : first.value;
  if (whole.byteLength < PART_BYTES) {
    await ask({ method: 'PUT', name, headers, body: whole, withinMs: PART_WITHIN_MS });
    return;
  }
  const { text } = await ask({ method: 'POST', name, query: { uploads: '' }, headers });
  const uploadId = textOf(text, 'UploadId');
  if (uploadId === undefined) throw new Error('it began no upload of parts');
  try {
    const tags: string[] = [];
    for (let part: IteratorResult<Uint8Array> = first; !part.done; part = await parts.next()) {
      if (tags.length === MAX_PARTS) throw new TooManyParts();
      const query = { partNumber: String(tags.length + 1), uploadId };
      const stored = await ask({ method: 'PUT', name, query, body: part.value, withinMs: PART_WITHIN_MS });
      tags.push(stored.headers.get('etag') ?? '');
    }
    await complete(ask, name, uploadId, tags);
  } catch (error) {
    // What is left is removed a day later.
    await ask({ method: 'DELETE', name, query: { uploadId } }).catch(() => undefined);
    throw error;
  }
};

const complete = async (
  ask: S3Requests['ask'],
  name: string,
  uploadId: string,
  tags: readonly string[],
): Promise<void> => {
  const parts = tags.map(
    (tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
  );
  const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const request = { method: 'POST', name, query: { uploadId }, body, withinMs: COMPLETE_WITHIN_MS } as const;
  try {
    const { text } = await ask(request);
    // S3 answers 200 before it knows the outcome.
    if (elementsOf(text, 'Code').length > 0) throw new S3Failure(200, text);
  } catch (error) {
    // An earlier try was complete, and its answer was lost.
    if (!(error instanceof S3Failure && error.code === 'NoSuchUpload' && (await exists(ask, name))))
      throw error;
  }
};

const exists = async (ask: S3Requests['ask'], name: string): Promise<boolean> => {
  const { text } = await ask({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1', prefix: name } });
  return elementsOf(text, 'Key').length > 0;
};

/** The body in parts of one size; the last one may be shorter. */
async function* partsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [pieces, bytes]: [Uint8Array[], number] = [[], 0];
  for await (const piece of body) {
    let rest = piece;
    while (bytes + rest.byteLength >= PART_BYTES) {
      const fits = PART_BYTES - bytes;
      yield Buffer.concat([...pieces, rest.subarray(0, fits)]);
      [pieces, bytes] = [[], 0];
      rest = rest.subarray(fits);
    }
    // A copy: the body may use its buffer again.
    if (rest.byteLength > 0) pieces.push(Uint8Array.from(rest));
    bytes += rest.byteLength;
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}
