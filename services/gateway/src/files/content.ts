import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import etag from 'etag';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { sendTagged } from '../door/responses.ts';

/** What is sent without a key and does not change while the gateway runs. */
export interface Content {
  readonly type: string;
  readonly plain: Tagged;
  readonly packed: Tagged;
}

interface Tagged {
  readonly bytes: Buffer;
  readonly tag: string;
}

const compress = promisify(gzip);

/** `type`: its media type. */
export const contentOf = async (type: string, bytes: Buffer): Promise<Content> => ({
  type,
  plain: tagged(bytes),
  packed: tagged(await compress(bytes)),
});

const tagged = (bytes: Buffer): Tagged => ({ bytes, tag: etag(bytes) });

export const sendContent = (ctx: Context, { type, plain, packed }: Content): void => {
  ctx.vary('Accept-Encoding');
  const isPacked = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isPacked) ctx.set('Content-Encoding', 'gzip');
  const { bytes, tag } = isPacked ? packed : plain;
  ctx.status = 200;
  ctx.type = type;
  ctx.set('Cache-Control', 'no-cache');
  sendTagged(ctx, bytes, tag);
};

/** A file of the program. */
export interface OwnFile {
  readonly path: string;
  readonly type: string;
}

/** Files are read at the first request for them, and kept. `count`: how many there are. */
export const ownFiles = (count: number): ((file: OwnFile) => Promise<Content>) => {
  const kept = new LRUCache<string, Content, string>({
    max: count,
    fetchMethod: async (path, _stale, { context: type }) => contentOf(type, await readFile(path)),
  });
  return ({ path, type }) => kept.forceFetch(path, { context: type });
};
