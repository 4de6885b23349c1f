import {
  type CallbackPolicy,
  checkCallbackUrl,
  urlLength,
  type UrlRefusal,
} from '@runledger/webhooks/callback-policy';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import { resolveCallback } from '@runledger/webhooks/resolve-callback';
import { invalid, wrongValue, type Invalid } from '../../door/refusal.ts';

/**
 * What the webhook policy says of a callback, or of the address of an input, when a run is queued. The notifier checks it again before each delivery
 * attempt, and the executor before it fetches.
 */
export interface CallbackRules {
  /** What is wrong with the text of a webhook; nothing when there is none. */
  readonly problems: (webhook: unknown) => Invalid[];
  /** What is wrong with the addresses of its name; undefined also when they cannot be resolved in time. */
  readonly destination: (text: string, loc?: Invalid['loc']) => Promise<Invalid | undefined>;
}

const RESOLVE_WITHIN_MS = 1_000;

export const callbackRules = (
  /** Called for each address: the gateway knows its own address only once it listens. */
  policy: () => CallbackPolicy,
  resolver: NameResolver,
  /** Characters of ASCII; others count as more. */
  maxLength: number,
): CallbackRules => ({
  problems: (text) => {
    if (typeof text !== 'string') return [];
    const verdict = checkCallbackUrl(text, policy(), maxLength);
    return verdict.ok ? [] : [problemOf(LOC, verdict, text, maxLength)];
  },
  destination: async (text, loc = LOC) => {
    const present = policy();
    const verdict = checkCallbackUrl(text, present, maxLength);
    if (!verdict.ok) return problemOf(loc, verdict, text, maxLength);
    const late = AbortSignal.timeout(RESOLVE_WITHIN_MS);
    try {
      const resolved = await resolveCallback(verdict.url, { policy: present, resolver }, late);
      return resolved.kind === 'forbidden' ? wrongValue(loc, resolved.why) : undefined;
    } catch (error) {
      if (late.aborted) return undefined;
      throw error;
    }
  },
});

const LOC = ['body', 'webhook'];

const problemOf = (
  loc: Invalid['loc'],
  { refusal, why }: { readonly refusal: UrlRefusal; readonly why: string },
  text: string,
  maxLength: number,
): Invalid => {
  switch (refusal) {
    case 'too_long':
      return invalid(loc, 'url_too_long', `Send a URL of at most ${urlLength(maxLength)}`);
    case 'scheme':
      return hasOtherScheme(text)
        ? invalid(loc, 'url_scheme', 'Send a URL with http or https')
        : invalid(loc, 'url_parsing', `Send a URL, ${why}`);
    case 'characters':
    case 'parse':
      return invalid(loc, 'url_parsing', `Send a URL, ${why}`);
    case 'userinfo':
    case 'fragment':
    case 'port':
    case 'name':
    case 'ip':
      return wrongValue(loc, why);
  }
};

const hasOtherScheme = (text: string): boolean => /^(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:/i.test(text);
