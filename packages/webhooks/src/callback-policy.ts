import { jsonBytes } from '@runledger/contracts/json';
import { MAX_WEBHOOK_URL } from '@runledger/contracts/limits';
import {
  networks,
  whyNotPublic,
  type Networks,
  hostText,
  readHost,
  type Host,
  whyNamePrivate,
  isOwnService,
  readOwnService,
  type OwnService,
  hostOf,
} from './hosts.ts';

export interface CallbackPolicySettings {
  /** Besides public addresses: `loopback`, a host name, an IP address, or a network such as 10.1.0.0/16. */
  readonly allow: readonly string[];
  readonly ports: readonly number[];
  /** `host:port`, or `host` for all its ports. Callbacks never reach these, even if another setting allows them. */
  readonly ownServices: readonly string[];
  /** The setting that has `allow`, for who is refused; without it that of webhooks. */
  readonly allowedBy?: string;
}

/** Which addresses callbacks, or programs, may reach. Made by `callbackPolicy`; only this package uses its fields. */
export interface CallbackPolicy {
  readonly ports: ReadonlySet<number>;
  readonly allowedNames: ReadonlySet<string>;
  readonly allowedNetworks: Networks;
  readonly allowsLoopback: boolean;
  readonly ownServices: readonly OwnService[];
  readonly allowedBy: string;
}

const LOOPBACK = 'loopback';
/** Without 0.0.0.0 and ::, which are not addresses to connect to, although systems treat them as loopback. */
const LOOPBACK_NETWORKS = ['127.0.0.0/8', '::1'];

/** @throws {RangeError} for an entry that is not a host, address or network, with examples */
export const callbackPolicy = (settings: CallbackPolicySettings): CallbackPolicy => {
  const allowed = settings.allow.map(readAllowed);
  const allowsLoopback = allowed.some(({ kind }) => kind === LOOPBACK);
  const wrong = settings.ports.find((port) => !Number.isInteger(port) || port < 1 || port > 65_535);
  if (wrong !== undefined)
    throw new RangeError(`${wrong} is not a port: write whole numbers from 1 to 65535, such as 443`);
  return {
    ports: new Set(settings.ports),
    allowedNames: new Set(allowed.flatMap((entry) => (entry.kind === 'name' ? [entry.name] : []))),
    allowedNetworks: networks([
      ...allowed.flatMap((entry) => (entry.kind === 'network' ? [entry.network] : [])),
      ...(allowsLoopback ? LOOPBACK_NETWORKS : []),
    ]),
    allowsLoopback,
    ownServices: settings.ownServices.map(readOwnService),
    allowedBy: settings.allowedBy ?? 'RUNLEDGER_WEBHOOK_ALLOW',
  };
};

type Allowed =
  | { readonly kind: typeof LOOPBACK }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'network'; readonly network: string };

/** @throws {RangeError} for a text that is not a host, address or network */
export const readAllowed = (text: string): Allowed => {
  if (text.toLowerCase() === LOOPBACK) return { kind: LOOPBACK };
  if (text.includes('/')) {
    networks([text]);
    return { kind: 'network', network: text };
  }
  const host = readHost(text);
  switch (host?.kind) {
    case 'address':
      return { kind: 'network', network: host.address };
    case 'name':
      return host;
    case undefined:
      throw new RangeError(
        `${JSON.stringify(text.slice(0, 80))} is not a host: write loopback, a host name without scheme, port and wildcard, an IP address, or a network such as 10.1.0.0/16`,
      );
  }
};

/** Whether the host itself is allowed; the rules for names and ports do not apply then. */
export const isExempt = (policy: CallbackPolicy, host: Host): boolean =>
  host.kind === 'address'
    ? policy.allowedNetworks.includes(host.address)
    : policy.allowedNames.has(host.name) || (policy.allowsLoopback && host.name === 'localhost');

interface HostRefusal {
  readonly refusal: 'name' | 'ip' | 'port';
  readonly why: string;
}

/** The refusal of a host, as written, by the rules for names, addresses and ports; undefined when they allow it. */
export const refuseHost = (policy: CallbackPolicy, host: Host, port: number): HostRefusal | undefined => {
  const refusal = isExempt(policy, host) ? undefined : refuseOther(policy, host, port);
  if (refusal !== undefined) return refusal;
  // The last rule, so that no answer tells an address of ours from another one that is not public.
  return isOwn(policy, host, port)
    ? { refusal: host.kind === 'name' ? 'name' : 'ip', why: ownService(host, port) }
    : undefined;
};

const refuseOther = (policy: CallbackPolicy, host: Host, port: number): HostRefusal | undefined => {
  if (host.kind === 'address') {
    const why = whyNotPublic(host.address);
    if (why !== undefined) return { refusal: 'ip', why: notPublic(policy, host, why) };
  } else {
    const why = whyNamePrivate(host.name);
    if (why !== undefined)
      return {
        refusal: 'name',
        why: `the host name ${host.name} ${why}; ${mayBeAllowed(policy, host.name)}`,
      };
  }
  if (policy.ports.has(port)) return undefined;
  const ports = [...policy.ports].join(', ');
  return {
    refusal: 'port',
    why: `port ${port} is not one of ${ports}; ${mayBeAllowed(policy, hostText(host))}`,
  };
};

/**
 * The reason why callbacks to `host` may not connect to this canonical address of it; undefined if they may. It names no address that
 * the URL does not name: whoever chooses a name must not learn what it leads to here.
 */
export const refuseAddress = (
  policy: CallbackPolicy,
  host: Host,
  address: string,
  port: number,
): string | undefined => {
  const isAllowed =
    policy.allowedNetworks.includes(address) || (host.kind === 'name' && policy.allowedNames.has(host.name));
  const why = isAllowed ? undefined : whyNotPublic(address);
  if (why !== undefined) return notPublic(policy, host, why);
  return isOwn(policy, { kind: 'address', address }, port) ? ownService(host, port) : undefined;
};

const notPublic = (policy: CallbackPolicy, host: Host, why: string): string =>
  host.kind === 'name'
    ? `the host name ${host.name} has an address that is not public; ${mayBeAllowed(policy, host.name)}`
    : `the address ${host.address} is not public (${why}); ${mayBeAllowed(policy, host.address)}`;

const isOwn = (policy: CallbackPolicy, host: Host, port: number): boolean =>
  policy.ownServices.some((service) => isOwnService(service, host, port));

/** Without the name of a setting, because no setting can allow it. */
export const ownService = (host: Host, port: number): string =>
  `${hostText(host)} at port ${port} is a service of Runledger itself, which is never reached this way`;

const mayBeAllowed = ({ allowedBy }: CallbackPolicy, entry: string): string =>
  `the operator can allow it with ${entry} in ${allowedBy}`;

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

type UrlVerdict =
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
