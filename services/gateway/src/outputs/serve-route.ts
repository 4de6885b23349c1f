import type { Logger } from '@runledger/event-log/connect/logger';
import type { Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import { sendFile } from './send-file.ts';
import type { OutputStore } from './store/output-store.ts';

export interface ServeRoute {
  readonly store: OutputStore;
  readonly logger: Logger;
}

/** An output never changes. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';

/** `GET` and `HEAD /outputs/{key}/{filename}`: anyone who knows the address may read the file. */
export const serveRoute =
  ({ store, logger }: ServeRoute): Middleware =>
  async (ctx) => {
    const { key, filename }: Record<string, unknown> = ctx['params'] ?? {};
    const file = await store.find(String(key));
    if (!file || file.filename !== filename) throw new Refused({ kind: 'not_found', what: 'Output' });
    const read = store.read.bind(undefined, file);
    await sendFile(ctx, { file, cacheControl: CACHE_CONTROL, read }, logger);
  };
