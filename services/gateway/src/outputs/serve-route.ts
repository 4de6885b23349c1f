import { pipeline } from 'node:stream/promises';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Context, Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import { readRange, type Range } from './core/byte-range.ts';
import { outputHeaders } from './output-headers.ts';
import type { OutputStore, StoredOutput } from './store/output-store.ts';

export interface ServeRoute {
  readonly store: OutputStore;
  readonly logger: Logger;
}

/** A client that reads nothing for this time is disconnected. */
const STALLED_MS = 300_000;

/** `GET` and `HEAD /outputs/{key}/{filename}`: anyone who knows the address may read the file. */
export const serveRoute =
  ({ store, logger }: ServeRoute): Middleware =>
  async (ctx) => {
    const { key, filename }: Record<string, unknown> = ctx['params'] ?? {};
    const output = await store.find(String(key));
    if (!output || output.filename !== filename) throw new Refused({ kind: 'not_found', what: 'Output' });
    const headers = outputHeaders(output);
    if (isKnown(ctx, headers['ETag'] ?? '')) {
      ctx.set(headers);
      ctx.remove('Content-Type');
      ctx.status = 304;
      return;
    }
    const range = rangeOf(ctx, output, headers['ETag'] ?? '');
    if (range.kind === 'unsatisfiable') {
      throw new Refused({ kind: 'range_not_satisfiable', bytes: output.bytes });
    }
    const span = range.kind === 'part' ? range.span : { first: 0, last: output.bytes - 1 };
    ctx.set(headers);
    ctx.status = range.kind === 'part' ? 206 : 200;
    if (range.kind === 'part') {
      ctx.set('Content-Range', `bytes ${span.first}-${span.last}/${output.bytes}`);
    }
    ctx.set('Content-Length', String(span.last - span.first + 1));
    ctx.respond = false;
    if (ctx.method === 'HEAD' || output.bytes === 0) {
      ctx.res.end();
      return;
    }
    ctx.res.setTimeout(STALLED_MS, () => ctx.res.destroy());
    // It reads the next chunk only when the socket has accepted the one before.
    await pipeline(store.read(output, span), ctx.res).catch((err: unknown) => {
      logger.debug({ err, key }, 'an output file was not sent completely');
    });
  };

const isKnown = (ctx: Context, etag: string): boolean => {
  const known = ctx.get('if-none-match');
  return known === '*' || known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
};

const rangeOf = (ctx: Context, output: StoredOutput, etag: string): Range => {
  const condition = ctx.get('if-range');
  if (ctx.method !== 'GET' || (condition !== '' && condition !== etag)) return { kind: 'whole' };
  return readRange(ctx.get('range'), output.bytes);
};
