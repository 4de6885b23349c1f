import { Readable } from 'node:stream';
import etag from 'etag';
import type { Context } from 'koa';
import { withLongIntegersAsTexts } from '@runledger/contracts/json';

/**
 * On every response, also on those that Node would write by itself: what OWASP's REST security cheat sheet lists.
 * X-Frame-Options is left out, since browsers that know `frame-ancestors` ignore it, and output files have rules of their own.
 */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'API-Version': 'V2',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** `Cache-Control` of a response that a client may cache, and has to revalidate each time. */
export const REVALIDATED = 'private, no-cache';

/** A year. Not for subdomains: they are not ours to decide on. */
const HSTS = 'max-age=31536000';

/** With the promise of https only where clients know us by it. */
export const commonHeaders = (publicUrl: string | undefined): Readonly<Record<string, string>> =>
  URL.parse(publicUrl ?? '')?.protocol === 'https:'
    ? { ...COMMON_HEADERS, 'Strict-Transport-Security': HSTS }
    : COMMON_HEADERS;

const CONTENT_TYPE =
  /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,127}(?:; ?[\w-]{1,32}=(?:[\w.+-]{1,64}|"[\w.+ -]{1,64}"))*$/;

/** The type that a file is stored with. */
export const contentTypeIn = (text: string): string =>
  CONTENT_TYPE.test(text) ? text.toLowerCase() : 'application/octet-stream';

/**
 * Sends a response with its entity tag, or 304 to a client that already has it (RFC 9110, section 13.1.2). Koa's own
 * `fresh` would send the response whenever the request says `Cache-Control: no-cache`, as every fetch() with a tag does.
 */
export const sendTagged = (ctx: Context, body: string | Buffer, tag = etag(body)): void => {
  ctx.set('ETag', tag);
  ctx.body = body;
  if (isKnown(ctx.get('if-none-match'), tag)) ctx.status = 304;
};

/** Whether `If-None-Match` names the tag. */
export const isKnown = (known: string, tag: string): boolean =>
  known.trim() === '*' || known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);

const PIECE_LENGTH = 32 * 1024;

/** A response of many texts, in pieces of some length. The first text is read before it begins, so that what cannot be read is refused. */
export const streamed = async (texts: AsyncGenerator<string>): Promise<Readable> => {
  const first = await texts.next();
  async function* pieces(): AsyncGenerator<string> {
    if (first.done) return;
    let piece = first.value;
    for await (const text of texts) {
      piece += text;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
    yield piece;
  }
  return Readable.from(pieces(), { objectMode: false, highWaterMark: PIECE_LENGTH });
};

/** A response that was written as JSON before, with its entity tag. */
export class RenderedJson {
  readonly text: string;
  /** With the numbers that `text` has as strings. */
  readonly exact: string;
  readonly tag: string;

  constructor(value: unknown) {
    this.exact = JSON.stringify(value);
    this.text = withLongIntegersAsTexts(this.exact);
    this.tag = etag(this.text);
  }
}
