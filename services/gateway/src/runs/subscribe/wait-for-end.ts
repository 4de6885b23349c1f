import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Context } from 'koa';
import type { AwaitEnd } from './await-end.ts';
import type { KeyRevalidation } from './key-revalidation.ts';
import { bearerOf } from '../../auth/bearer.ts';
import { Refused } from '../../http/refusal.ts';

/** Holds a request until a run has ended, or for so long; refuses it when its API key is lost meanwhile. */
export type WaitForEnd = (key: RunKey, ctx: Context, withinMs: number) => Promise<void>;

export const waitForEnd =
  ({ awaitEnd, keys }: { readonly awaitEnd: AwaitEnd; readonly keys: KeyRevalidation }): WaitForEnd =>
  async (key, { req, res }, withinMs) => {
    // It has gone away meanwhile, and nothing would tell of it again.
    if (res.destroyed) return;
    const over = new AbortController();
    const gone = (): void => over.abort();
    res.once('close', gone);
    let isLost = false;
    const unwatch = keys.watch(bearerOf(req) ?? '', () => {
      isLost = true;
      over.abort();
    });
    try {
      await awaitEnd(key, { withinMs, signal: over.signal });
    } finally {
      unwatch();
      res.off('close', gone);
    }
    if (isLost) throw new Refused({ kind: 'not_authenticated', why: 'This API key is not valid any more' });
  };
