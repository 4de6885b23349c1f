import type { Bytes, Schemas, UploadedFile } from '../operations.ts';
import { withMember } from '../http/refusal.ts';
import { isObject } from '../http/json.ts';
import { isFile, type Request, requestOf } from '../http/request.ts';
import type { Settings } from '../http/settings.ts';
import { ApiError, Unavailable } from '../errors.ts';
import { exchange } from '../http/exchange.ts';
import { pause, retryDelay } from '../http/retries.ts';

/** A value of an input: JSON, where a bigint is a number, or a file, which is uploaded before the run is queued. */
export type InputValue = string | number | bigint | boolean | Bytes | readonly unknown[];
/** Values by input name. A member that is undefined counts as left out. */
export type Inputs = Readonly<Record<string, InputValue | undefined>>;

/** The inputs as the API takes them: in the place of each file its id. @throws RunledgerError, the reason of the signal */
export const withUploadedFiles = async (
  settings: Settings,
  request: Request,
  inputs: Inputs,
  signal: AbortSignal | undefined,
): Promise<Record<string, string | number | boolean | unknown[]>> => {
  const idOf = async (value: unknown): Promise<unknown> => {
    if (isFile(value)) return withMember(await uploadFile(settings, request, value, { signal }), 'id').id;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      // One after the other: a gateway keeps a part of each in memory.
      for (const item of value) items.push(await idOf(item));
      return items;
    }
    return isPlain(value) ? withIds(value) : value;
  };
  const withIds = async (members: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> => {
    const all: [string, unknown][] = [];
    for (const [name, value] of Object.entries(members)) all.push([name, await idOf(value)]);
    return Object.fromEntries(all);
  };
  return (await withIds(inputs)) as Record<string, string | number | boolean | unknown[]>;
};

/** Not one that JSON writes in its own way, such as a Date. */
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));

export interface UploadOptions {
  /** That of a `File` when left out. */
  readonly filename?: string | undefined;
  /** That of a `Blob`, else by the name, when left out. */
  readonly contentType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A larger file is uploaded resumably. The service takes up to 64 MiB at once. */
const LARGEST_AT_ONCE = 16 * 1024 * 1024;
/** Of a resumable upload. A lost connection loses no more. */
const PIECE_BYTES = 16 * 1024 * 1024;
/** Until a piece must be there. */
const PIECE_TIMEOUT_MS = 300_000;
/** Another gateway may not know yet that the connection of an earlier request broke. */
const STILL_WRITTEN = 409;

/** Uploads a file. Equal bytes are one file, so that it may be sent twice. @throws RunledgerError, the reason of the signal */
export const uploadFile = (
  settings: Settings,
  request: Request,
  file: Bytes,
  options: UploadOptions,
): Promise<UploadedFile> => {
  const filename = options.filename ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'file');
  const given = options.contentType ?? (file instanceof Blob ? file.type : '');
  const type = given === '' ? (contentTypeOf(filename) ?? 'application/octet-stream') : given;
  const described: DescribedFile = {
    blob: file instanceof Blob ? file : new Blob([file as ArrayBuffer]),
    filename,
    type,
  };
  return described.blob.size <= LARGEST_AT_ONCE
    ? atOnce(request, described, options.signal)
    : resumably(settings, request, described, options.signal);
};

interface DescribedFile {
  readonly blob: Blob;
  readonly filename: string;
  readonly type: string;
}

const atOnce = (
  request: Request,
  { blob, filename, type }: DescribedFile,
  signal: AbortSignal | undefined,
): Promise<UploadedFile> =>
  request('POST', '/files', {
    query: { filename },
    headers: { 'content-type': type },
    body: blob,
    signal,
    timeoutMs: PIECE_TIMEOUT_MS,
    idempotent: true,
  });

const TUS = { 'Tus-Resumable': '1.0.0' } as const;

const resumably = async (
  settings: Settings,
  request: Request,
  file: DescribedFile,
  signal: AbortSignal | undefined,
): Promise<UploadedFile> => {
  const { size } = file.blob;
  const metadata = `filename ${base64(file.filename)},filetype ${base64(file.type)}`;
  const begun = withMember(
    await request('POST', '/files/uploads', {
      headers: { ...TUS, 'Upload-Length': size, 'Upload-Metadata': metadata },
      signal,
      idempotent: true,
    }),
    'id',
  );
  let [offset, failures] = [begun.offset, 0];
  for (;;) {
    const state = await request('GET', '/files/uploads/{id}', { params: { id: begun.id }, signal });
    if (state.file) return state.file;
    // What came before an interruption begins another count.
    if (state.offset > offset) [offset, failures] = [state.offset, 0];
    const failure = await sendPiece(settings, begun, file.blob, state.offset, signal);
    if (failure === undefined) continue;
    failures += 1;
    const tries = { failures, retries: settings.retries, idempotent: true, chance: Math.random() };
    const delay = retryDelay(failure, tries);
    if (delay === undefined) throw failure;
    await pause(delay, signal);
  }
};

/** What went wrong; undefined when the bytes are stored. @throws the reason of the signal */
const sendPiece = async (
  settings: Settings,
  { id }: Schemas['FileUpload'],
  blob: Blob,
  offset: number,
  signal: AbortSignal | undefined,
): Promise<unknown> => {
  if (offset >= blob.size) return NO_FILE_YET;
  const sent = requestOf(settings, 'PATCH', '/files/uploads/{id}', {
    params: { id },
    headers: { ...TUS, 'Upload-Offset': offset, 'content-type': 'application/offset+octet-stream' },
    body: blob.slice(offset, offset + PIECE_BYTES),
    signal,
    timeoutMs: PIECE_TIMEOUT_MS,
  });
  try {
    await exchange(settings, sent, async ({ limit }) => limit.close());
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    return error instanceof ApiError && error.status === STILL_WRITTEN ? passing(error) : error;
  }
};

const passing = (error: ApiError): Unavailable => new Unavailable(error.message, error);

const NO_FILE_YET = new Unavailable('All bytes are uploaded, and the service has made no file of them yet.', {
  status: 503,
  code: null,
  detail: 'The file is not made yet',
  requestId: null,
  retryAfter: null,
  body: undefined,
});

const base64 = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text.slice(0, MAX_NAME_LENGTH))));

/** Characters. The service takes fewer. */
const MAX_NAME_LENGTH = 1_000;

/** The MIME type of a file by its extension, as the service knows them; undefined for an unknown one. */
export const contentTypeOf = (filename: string): string | undefined =>
  CONTENT_TYPES.get(filename.slice(filename.lastIndexOf('.')).toLowerCase());

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.gif', 'image/gif'],
  ['.avif', 'image/avif'],
  ['.svg', 'image/svg+xml'],
  ['.tif', 'image/tiff'],
  ['.tiff', 'image/tiff'],
  ['.bmp', 'image/bmp'],
  ['.exr', 'image/x-exr'],
  ['.mp4', 'video/mp4'],
  ['.webm', 'video/webm'],
  ['.mov', 'video/quicktime'],
  ['.mkv', 'video/x-matroska'],
  ['.mp3', 'audio/mpeg'],
  ['.wav', 'audio/wav'],
  ['.flac', 'audio/flac'],
  ['.ogg', 'audio/ogg'],
  ['.opus', 'audio/opus'],
  ['.m4a', 'audio/mp4'],
  ['.txt', 'text/plain; charset=utf-8'],
  ['.log', 'text/plain; charset=utf-8'],
  ['.csv', 'text/csv; charset=utf-8'],
  ['.md', 'text/markdown; charset=utf-8'],
  ['.json', 'application/json'],
  ['.pdf', 'application/pdf'],
  ['.zip', 'application/zip'],
  ['.glb', 'model/gltf-binary'],
  ['.gltf', 'model/gltf+json'],
]);
