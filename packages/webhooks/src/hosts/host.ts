import { canonicalAddress } from './address-rule.ts';
import { canonicalName } from './name-rule.ts';

/** The host of a URL or of a setting, in one spelling. */
export type Host =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly name: string };

/** From `URL.hostname`, which has one spelling of each IPv4 address. */
export const hostOf = (hostname: string): Host => {
  const address = canonicalAddress(hostname);
  return address === undefined
    ? { kind: 'name', name: canonicalName(hostname) }
    : { kind: 'address', address };
};

/** With underscores, because names in container networks may have them. */
const SET_NAME = /^(?=.{1,253}$)[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*$/;

/** From a setting: a name, an IPv4 address in any spelling that a URL may have, or an IPv6 address; else undefined. */
export const readHost = (text: string): Host | undefined => {
  const address = canonicalAddress(text);
  if (address !== undefined) return { kind: 'address', address };
  if (/[\s/@?#\\:%[\]]/.test(text)) return undefined;
  const hostname = URL.parse(`http://${text}/`)?.hostname;
  const host = hostname === undefined ? undefined : hostOf(hostname);
  return host?.kind === 'name' && !SET_NAME.test(host.name) ? undefined : host;
};

export const sameHost = (one: Host, other: Host): boolean => hostText(one) === hostText(other);

export const hostText = (host: Host): string => (host.kind === 'name' ? host.name : host.address);
