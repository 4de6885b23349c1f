import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Context } from 'koa';
import { bearerOf } from '../../auth/bearer.ts';
import { Refused } from '../../http/refusal.ts';
import type { AwaitEnd } from './await-end.ts';
import type { KeyRevalidation } from './key-revalidation.ts';

/** Holds a request until a run has ended, or until the time is over. Refuses it when its API key becomes invalid meanwhile. */
export type WaitForEnd = (key: RunKey, ctx: Context, withinMs: number) => Promise<void>;

export const waitForEnd =
  ({ awaitEnd, keys }: { readonly awaitEnd: AwaitEnd; readonly keys: KeyRevalidation }): WaitForEnd =>
  async (key, { req, res }, withinMs) => {
    // The client has disconnected already, so `close` will not come.
    if (res.destroyed) return;
    const over = new AbortController();
    const onClose = (): void => over.abort();
    res.once('close', onClose);
    let isKeyInvalid = false;
    const release = keys.revalidate(bearerOf(req) ?? '', () => {
      isKeyInvalid = true;
      over.abort();
    });
    try {
      await awaitEnd(key, { withinMs, signal: over.signal });
    } finally {
      release();
      res.off('close', onClose);
    }
    if (isKeyInvalid) throw new Refused({ kind: 'not_authenticated', why: KEY_INVALID });
  };

const KEY_INVALID = 'The API key is invalid, expired or revoked';
