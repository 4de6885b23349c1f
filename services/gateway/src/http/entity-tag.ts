import etag from 'etag';
import type { Context } from 'koa';

/**
 * Sends a response with its entity tag, or 304 to a client that already has it (RFC 9110, section 13.1.2). Koa's own
 * `fresh` would send the response whenever the request says `Cache-Control: no-cache`, as every fetch() with a tag does.
 */
export const sendTagged = (ctx: Context, body: string | Buffer, tag = etag(body)): void => {
  ctx.set('ETag', tag);
  ctx.body = body;
  if (isKnown(ctx.get('if-none-match'), tag)) ctx.status = 304;
};

const isKnown = (known: string, tag: string): boolean =>
  known.trim() === '*' || known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
