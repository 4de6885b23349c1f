import type { CallbackPolicy } from '../policy/callback-policy.ts';
import { checkCallbackUrl } from '../policy/callback-url.ts';
import type { NameResolver } from '../dns/name-resolver.ts';
import { resolveCallback, type CallbackAddresses } from '../policy/resolve-callback.ts';

/** Applies the whole policy before every attempt: it may have changed since the run was queued, and so may the name's addresses. */
export const resolveChecked =
  (parts: { readonly policy: CallbackPolicy; readonly resolver: NameResolver }) =>
  async (url: URL, signal: AbortSignal): Promise<CallbackAddresses> => {
    const verdict = checkCallbackUrl(url.href, parts.policy);
    return verdict.ok ? resolveCallback(verdict.url, parts, signal) : { kind: 'forbidden', why: verdict.why };
  };
