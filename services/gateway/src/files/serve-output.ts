import type { Kit } from '../kit.ts';
import type { OpenedOutputs } from './output-stores.ts';
import type { OutputUrls } from '@runledger/webhooks/signing/output-urls';
import type { Middleware } from 'koa';
import type { PlainRoute } from '../door/operation.ts';
import type { OutputStore } from './output-store.ts';
import { notFound, Refused } from '../door/refusal.ts';
import { sendFile } from './send-file.ts';

/** Anyone who knows the address of a file may read it, while the address is valid. */
export const outputRoutes = (
  kit: Kit,
  { store, needsLog }: OpenedOutputs,
  urls: OutputUrls,
): PlainRoute[] => [
  {
    method: 'GET',
    path: '/outputs/:key/:filename',
    serve: serveRoute(kit, store, urls),
    ...(needsLog ? { needsLog: true } : {}),
  },
];

/** A file never changes, but it may be deleted, or its address expire. */
const CACHED_S = 3_600;

/** `GET` and `HEAD /outputs/{key}/{filename}`: anyone who knows the address may read the file, while the address is valid. */
const serveRoute =
  ({ logger }: Kit, store: OutputStore, urls: OutputUrls): Middleware =>
  async (ctx) => {
    const { key, filename }: Record<string, unknown> = ctx['params'] ?? {};
    const address = urls.check({ key: String(key), filename: String(filename) }, ctx.query);
    if (address.kind === 'expired') throw new Refused({ code: 'output_address_expired', why: EXPIRED });
    const file = address.kind === 'valid' ? await store.find(String(key)) : undefined;
    if (address.kind !== 'valid' || !file || file.filename !== filename) throw notFound('Output');
    const cacheControl = `private, max-age=${Math.floor(Math.min(address.forS, CACHED_S))}, immutable`;
    const read = store.read.bind(undefined, file);
    await sendFile(ctx, { file, cacheControl, read }, logger);
  };

const EXPIRED = 'This address has expired: read the run again, which shows another one';
