import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Context } from 'koa';
import { notAuthenticated } from '../../auth/identify-caller.ts';
import type { Caller } from '../../http/operation.ts';
import { streamHolder } from '../../quotas/stream-limits.ts';
import type { AwaitEnd } from './await-end.ts';
import type { KeyRevalidation } from './key-revalidation.ts';

/** Holds a request until a run has ended, or until the time is over. Refuses it when its credential becomes invalid meanwhile. */
export type WaitForEnd = (key: RunKey, caller: Caller, ctx: Context, withinMs: number) => Promise<void>;

export const waitForEnd =
  ({ awaitEnd, keys }: { readonly awaitEnd: AwaitEnd; readonly keys: KeyRevalidation }): WaitForEnd =>
  async (key, caller, { res }, withinMs) => {
    // The client has disconnected already, so `close` will not come.
    if (res.destroyed) return;
    const over = new AbortController();
    const onClose = (): void => over.abort();
    res.once('close', onClose);
    let isInvalid = false;
    const release = keys.revalidate(caller, () => {
      isInvalid = true;
      over.abort();
    });
    try {
      await awaitEnd(key, { holder: streamHolder(caller), withinMs, signal: over.signal });
    } finally {
      release();
      res.off('close', onClose);
    }
    if (isInvalid) throw notAuthenticated();
  };
