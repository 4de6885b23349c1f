import type { CallbackPolicy } from '@runledger/webhooks/policy/callback-policy';
import { checkCallbackUrl } from '@runledger/webhooks/policy/callback-url';
import type { NameResolver } from '@runledger/webhooks/dns/name-resolver';
import { resolveCallback, type CallbackAddresses } from '@runledger/webhooks/policy/resolve-callback';

/** Applies the whole policy before every attempt: it may have changed since the run was queued, and so may the name's addresses. */
export const resolveChecked =
  (parts: { readonly policy: CallbackPolicy; readonly resolver: NameResolver }) =>
  async (url: URL, signal: AbortSignal): Promise<CallbackAddresses> => {
    const verdict = checkCallbackUrl(url.href, parts.policy);
    return verdict.ok ? resolveCallback(verdict.url, parts, signal) : { kind: 'forbidden', why: verdict.why };
  };
