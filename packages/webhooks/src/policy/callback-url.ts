import { jsonBytes } from '@runledger/contracts/json';
import { MAX_WEBHOOK_URL } from '@runledger/contracts/limits';
import { refuseHost, type CallbackPolicy } from './callback-policy.ts';
import { hostOf } from '../hosts/host.ts';

/** The rule that a URL violates. */
export type UrlRefusal =
  | 'too_long'
  | 'characters'
  | 'parse'
  | 'scheme'
  | 'userinfo'
  | 'fragment'
  | 'port'
  | 'name'
  | 'ip';

export type UrlVerdict =
  | { readonly ok: true; readonly url: URL }
  /** `why` is a sentence without capital and full stop. It shows no part of the URL but host and port. */
  | { readonly ok: false; readonly refusal: UrlRefusal; readonly why: string };

const FORBIDDEN = /[\p{Cc}\s\\]/u;
const SCHEME = /^https?:\/\/(?!\/)/i;
const USER_INFO = /^[^/]+\/\/[^/?#]*@/;

/**
 * Whether callbacks may go to the URL, judged by its text; `resolveCallback` resolves the name. The host name of the resulting
 * URL has no dot at its end.
 */
export const checkCallbackUrl = (
  text: string,
  policy: CallbackPolicy,
  maxLength: number = MAX_WEBHOOK_URL,
): UrlVerdict => {
  const read = readCallbackUrl(text, maxLength);
  return read.ok ? checkParsedUrl(read.url, policy) : read;
};

/** The rules for the text, which do not depend on the policy. A parsed URL does not show backslashes and tabs. */
export const readCallbackUrl = (text: string, maxLength: number = MAX_WEBHOOK_URL): UrlVerdict => {
  if (lengthOf(text) > maxLength)
    return refused('too_long', `the URL is longer than ${urlLength(maxLength)}`);
  if (FORBIDDEN.test(text) || !text.isWellFormed())
    return refused('characters', 'the URL has a control character, a space or a backslash: encode them');
  if (!SCHEME.test(text))
    return refused('scheme', 'the URL does not begin with http:// or https:// and a host');
  if (USER_INFO.test(text)) return refused('userinfo', 'the URL has a user name or a password: remove them');
  if (text.includes('#'))
    return refused('fragment', 'the URL has a fragment, which is never sent: remove it');
  const url = URL.parse(text);
  if (url === null) return refused('parse', 'the URL has an invalid host or port');
  return { ok: true, url };
};

/** A character of a URL is one byte of JSON. Others count as what they need there, so that the events of a run stay small. */
const lengthOf = (text: string): number => jsonBytes(text) - QUOTES;
const QUOTES = 2;

/** The limit, for people. */
export const urlLength = (maxLength: number): string =>
  `${maxLength} characters, of which those outside ASCII count as 2 to 4, and quotation marks as 2`;

/** The rules for host and port of a URL whose text was checked. */
export const checkParsedUrl = (url: URL, policy: CallbackPolicy): UrlVerdict => {
  const host = hostOf(url.hostname);
  const refusal = refuseHost(policy, host, portOf(url));
  if (refusal !== undefined) return { ok: false, ...refusal };
  if (host.kind === 'address' || host.name === url.hostname) return { ok: true, url };
  const bare = new URL(url);
  bare.hostname = host.name;
  return { ok: true, url: bare };
};

export const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

const refused = (refusal: UrlRefusal, why: string): UrlVerdict => ({ ok: false, refusal, why });
