import {
  type CallbackPolicy,
  checkCallbackUrl,
  urlLength,
  type UrlRefusal,
} from '@runledger/webhooks/callback-policy';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import { resolveCallback } from '@runledger/webhooks/resolve-callback';
import { invalid, type Invalid } from '../../door/refusal.ts';

/**
 * What the webhook policy says of a callback, or of the address of an input, when a run is queued. The notifier checks it again before each delivery
 * attempt, and the executor before it fetches.
 */
export interface CallbackRules {
  /** What is wrong with its text. */
  readonly problem: (text: string) => Invalid | undefined;
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
  problem: (text) => {
    const verdict = checkCallbackUrl(text, policy(), maxLength);
    return verdict.ok ? undefined : problemOf(LOC, { ...verdict, text, maxLength });
  },
  destination: async (text, loc = LOC) => {
    const present = policy();
    const verdict = checkCallbackUrl(text, present, maxLength);
    if (!verdict.ok) return problemOf(loc, { ...verdict, text, maxLength });
    const late = AbortSignal.timeout(RESOLVE_WITHIN_MS);
    try {
      const resolved = await resolveCallback(verdict.url, { policy: present, resolver }, late);
      return resolved.kind === 'forbidden' ? valueError(loc, resolved.why) : undefined;
    } catch (error) {
      if (late.aborted) return undefined;
      throw error;
    }
  },
});

const LOC = ['body', 'webhook'];

interface RefusedUrl {
  readonly refusal: UrlRefusal;
  readonly why: string;
  readonly text: string;
  readonly maxLength: number;
}

const problemOf = (loc: Invalid['loc'], { refusal, why, text, maxLength }: RefusedUrl): Invalid => {
  switch (refusal) {
    case 'too_long':
      return invalid(loc, 'url_too_long', `URL should have at most ${urlLength(maxLength)}`);
    case 'scheme':
      return hasOtherScheme(text)
        ? invalid(loc, 'url_scheme', "URL scheme should be 'http' or 'https'")
        : invalid(loc, 'url_parsing', `Input should be a valid URL, ${why}`);
    case 'characters':
    case 'parse':
      return invalid(loc, 'url_parsing', `Input should be a valid URL, ${why}`);
    case 'userinfo':
    case 'fragment':
    case 'port':
    case 'name':
    case 'ip':
      return valueError(loc, why);
  }
};

const valueError = (loc: Invalid['loc'], why: string): Invalid =>
  invalid(loc, 'value_error', `Value error, ${why}`);

const hasOtherScheme = (text: string): boolean => /^(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:/i.test(text);
