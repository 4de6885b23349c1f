import { pipeline } from 'node:stream/promises';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { Context } from 'koa';
import { create as contentDisposition } from 'content-disposition';
import { Refused, notFound } from '../door/refusal.ts';
import { isKnown } from '../door/responses.ts';
import { readRange, type ByteSpan, type Range, type StoredOutput } from './output-store.ts';
import type { Kit } from '../kit.ts';
import type { OpenedOutputs } from './output-stores.ts';
import type { OutputUrls } from '@runledger/webhooks/output-urls';
import type { PlainRoute } from '../door/operation.ts';

interface FileToSend {
  readonly file: DescribedFile;
  readonly cacheControl: string;
  readonly read: (span: ByteSpan) => AsyncIterable<Uint8Array>;
}

/** A client that reads nothing for this time is disconnected. */
const STALLED_MS = 300_000;

/** Sends a file, or a part of it, with its entity tag. @throws {Refused} */
export const sendFile = async (
  ctx: Context,
  { file, cacheControl, read }: FileToSend,
  logger: Logger,
): Promise<void> => {
  const etag = entityTag(file);
  const headers = { ...fileHeaders(file), ETag: etag, 'Cache-Control': cacheControl };
  if (isKnown(ctx.get('if-none-match'), etag)) {
    ctx.set(headers);
    ctx.remove('Content-Type');
    ctx.status = 304;
    return;
  }
  const range = rangeOf(ctx, file, etag);
  if (range.kind === 'unsatisfiable') {
    throw new Refused({
      code: 'range_not_satisfiable',
      why: `The file has ${file.bytes} bytes`,
      headers: { 'Content-Range': `bytes */${file.bytes}` },
    });
  }
  const span = range.kind === 'part' ? range.span : { first: 0, last: file.bytes - 1 };
  ctx.set(headers);
  ctx.status = range.kind === 'part' ? 206 : 200;
  if (range.kind === 'part') {
    ctx.set('Content-Range', `bytes ${span.first}-${span.last}/${file.bytes}`);
  }
  ctx.set('Content-Length', String(span.last - span.first + 1));
  ctx.respond = false;
  if (ctx.method === 'HEAD' || file.bytes === 0) {
    ctx.res.end();
    return;
  }
  ctx.res.setTimeout(STALLED_MS, () => ctx.res.destroy());
  // It reads the next chunk only when the socket has accepted the one before.
  await pipeline(read(span), ctx.res).catch((err: unknown) => {
    logger.debug({ err, filename: file.filename }, 'a file was not sent completely');
  });
};

const entityTag = ({ sha256 }: DescribedFile): string => `"${sha256}"`;

const rangeOf = (ctx: Context, { bytes }: DescribedFile, etag: string): Range => {
  const condition = ctx.get('if-range');
  if (ctx.method !== 'GET' || (condition !== '' && condition !== etag)) return { kind: 'whole' };
  return readRange(ctx.get('range'), bytes);
};

/** What a response says about a file. */
type DescribedFile = Omit<StoredOutput, 'key'>;

/** Files come from workflows and clients, so a browser may show only harmless types, and must save the others. */
export const fileHeaders = (file: DescribedFile): Readonly<Record<string, string>> => ({
  'Content-Type': file.content_type,
  'Content-Disposition': contentDisposition(file.filename, {
    type: isHarmless(file.content_type) ? 'inline' : 'attachment',
  }),
  'Content-Security-Policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'",
  // Other origins may show an image whose address they know.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
  'Accept-Ranges': 'bytes',
  'Last-Modified': new Date(file.stored_at).toUTCString(),
});

/** SVG is an image that runs scripts. */
const isHarmless = (contentType: string): boolean => {
  const mime = contentType.split(';', 1)[0]?.trim() ?? '';
  return mime === 'text/plain' || (/^(?:image|video|audio)\//.test(mime) && !mime.includes('svg'));
};

/** A file never changes, but it may be deleted, or its address expire. */
const CACHED_S = 3_600;

/** `GET` and `HEAD /outputs/{key}/{filename}`: anyone who knows the address may read the file, while the address is valid. */
export const outputRoutes = (
  { logger }: Kit,
  { store, needsLog }: OpenedOutputs,
  urls: OutputUrls,
): PlainRoute[] => [
  {
    method: 'GET',
    path: '/outputs/:key/:filename',
    ...(needsLog ? { needsLog: true } : {}),
    serve: async (ctx) => {
      const { key, filename }: Record<string, unknown> = ctx['params'] ?? {};
      const address = urls.check({ key: String(key), filename: String(filename) }, ctx.query);
      if (address.kind === 'expired') throw new Refused({ code: 'output_address_expired', why: EXPIRED });
      const file = address.kind === 'valid' ? await store.find(String(key)) : undefined;
      if (address.kind !== 'valid' || !file || file.filename !== filename) throw notFound('Output');
      const cacheControl = `private, max-age=${Math.floor(Math.min(address.forS, CACHED_S))}, immutable`;
      const read = store.read.bind(undefined, file);
      await sendFile(ctx, { file, cacheControl, read }, logger);
    },
  },
];

const EXPIRED = 'This address has expired: read the run again, which shows another one';
