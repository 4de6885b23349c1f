import { BlockList, isIP, isIPv4 } from 'node:net';

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

const sameHost = (one: Host, other: Host): boolean => hostText(one) === hostText(other);

export const hostText = (host: Host): string => (host.kind === 'name' ? host.name : host.address);

/** Names that never belong to a public host: RFC 6761, 6762, 8375, 9476, Kubernetes, and metadata services of clouds. */
const PRIVATE_NAMES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'svc',
  'cluster.local',
  'home.arpa',
  'metadata.goog',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'api.metadata.cloud.ibm.com',
];
const LABEL = /^[a-z\d-]{1,63}$/;
const MAX_NAME = 253;

/** A host name in one spelling: lower case, without a dot at the end. */
const canonicalName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** The reason why a canonical name cannot be public, to follow "the host name x"; undefined if it can. */
export const whyNamePrivate = (name: string): string | undefined => {
  const labels = name.split('.');
  if (name.length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (!labels.every((label) => LABEL.test(label)))
    return 'has a label that is not 1 to 63 letters, digits and hyphens';
  if (labels.length < 2) return 'has only one label, and a public name has two or more';
  if (/^\d+$/.test(labels.at(-1) ?? '')) return 'ends in a number';
  const zone = PRIVATE_NAMES.find((zone) => name === zone || name.endsWith(`.${zone}`));
  if (zone === undefined) return undefined;
  return name === zone ? 'is not public' : `is under ${zone}, which is not public`;
};

/**
 * Networks that are not the public internet. IPv4 is a deny-list: all of
 * https://www.iana.org/assignments/iana-ipv4-special-registry, plus multicast and addresses that clouds reserve.
 */
const SPECIAL_IPV4: readonly (readonly [network: string, purpose: string])[] = [
  ['0.0.0.0/8', 'this host'],
  ['10.0.0.0/8', 'private network'],
  ['100.64.0.0/10', 'shared by carriers, and metadata of some clouds'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'metadata of a cloud'],
  ['169.254.0.0/16', 'link-local, and metadata of clouds'],
  ['172.16.0.0/12', 'private network'],
  ['192.0.0.0/24', 'protocol assignments, and metadata of a cloud'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'multicast tunnels'],
  ['192.88.99.0/24', '6to4 relays'],
  ['192.168.0.0/16', 'private network'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarks'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved, and broadcast'],
];

/** IPv6 is an allow-list, because most of it is unassigned: 2000::/3 without its entries in IANA's special registry. */
const GLOBAL_IPV6 = '2000::/3';
const SPECIAL_IPV6: readonly (readonly [network: string, purpose: string])[] = [
  ['2001::/23', 'protocol assignments, among them Teredo'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4, which carries an IPv4 address'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
];

/** A set of networks that keeps IPv4 and IPv6 apart, so that `::/0` contains no IPv4 address. */
export interface Networks {
  /** `address` in the spelling of `canonicalAddress`. */
  includes(address: string): boolean;
}

/** @throws {RangeError} for a text that is neither an address nor a network such as 10.0.0.0/8 */
export const networks = (texts: readonly string[]): Networks => {
  const ipv4 = new BlockList();
  const ipv6 = new BlockList();
  for (const text of texts) {
    const { address, prefix } = readNetwork(text);
    if (isIPv4(address)) ipv4.addSubnet(address, prefix, 'ipv4');
    else ipv6.addSubnet(address, prefix, 'ipv6');
  }
  return {
    includes: (address) => (isIPv4(address) ? ipv4.check(address, 'ipv4') : ipv6.check(address, 'ipv6')),
  };
};

/**
 * The canonical spelling of an IP address: IPv6 as in RFC 5952, IPv4-mapped IPv6 as IPv4, without brackets. Undefined if the text
 * is not an address, or has a zone (`fe80::1%eth0`), which is valid on one machine only.
 */
export const canonicalAddress = (text: string): string | undefined => {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (isIPv4(bare)) return bare === text ? bare : undefined;
  if (isIP(bare) !== 6 || bare.includes('%')) return undefined;
  const address = URL.parse(`http://[${bare}]/`)?.hostname.slice(1, -1);
  return address === undefined ? undefined : (mappedIPv4(address) ?? address);
};

const mappedIPv4 = (address: string): string | undefined => {
  const words = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address)?.slice(1);
  return words
    ?.map((word) => Number.parseInt(word, 16))
    .flatMap((word) => [word >> 8, word & 0xff])
    .join('.');
};

const MAPPED_BITS = 96;

const readNetwork = (text: string): { readonly address: string; readonly prefix: number } => {
  const [before = '', length, ...more] = text.split('/');
  const address = canonicalAddress(before);
  if (address === undefined || more.length > 0) throw notANetwork(text);
  const wide = isIPv4(address) ? 32 : 128;
  if (length === undefined) return { address, prefix: wide };
  const mapped = isIPv4(address) && !isIPv4(before);
  const prefix = Number(length) - (mapped ? MAPPED_BITS : 0);
  if (!/^\d{1,3}$/.test(length) || prefix < 0 || prefix > wide) throw notANetwork(text);
  return { address, prefix };
};

const notANetwork = (text: string): RangeError =>
  new RangeError(
    `${JSON.stringify(text.slice(0, 80))} is not a network: write an IP address, or one with a prefix length, such as 10.1.0.0/16 or fd00::/8`,
  );

const special = [...SPECIAL_IPV4, ...SPECIAL_IPV6].map(([network, purpose]) => ({
  network,
  purpose,
  block: networks([network]),
}));
const globalIPv6 = networks([GLOBAL_IPV6]);

/** The reason why an address is not public, such as `loopback, 127.0.0.0/8`; undefined if it is. */
export const whyNotPublic = (address: string): string | undefined => {
  const canonical = canonicalAddress(address);
  if (canonical === undefined) return 'not an IP address';
  if (!isIPv4(canonical) && !globalIPv6.includes(canonical)) return `outside ${GLOBAL_IPV6}`;
  const block = special.find(({ block }) => block.includes(canonical));
  return block && `${block.purpose}, ${block.network}`;
};

/** A service of this installation, which no callback may reach. */
export interface OwnService {
  readonly host: Host;
  /** Undefined for every port of the host. */
  readonly port: number | undefined;
}

/** A connection to the unspecified address reaches loopback, so a server on one of these addresses answers on all. */
const thisMachine = networks(['127.0.0.0/8', '::1', '0.0.0.0', '::']);

/** @throws {RangeError} with examples of a valid entry */
export const readOwnService = (text: string): OwnService => {
  const whole = readHost(text);
  if (whole !== undefined) return ownService(whole, undefined);
  const [, hostname = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const host = hostname.includes(':') && !hostname.startsWith('[') ? undefined : readHost(hostname);
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new RangeError(
      `${JSON.stringify(text.slice(0, 80))} is not a service: write host:port or host, such as nats.example.com:4222 or [::1]:9101`,
    );
  }
  return ownService(host, port);
};

const ownService = (host: Host, port: number | undefined): OwnService => ({
  host: host.kind === 'name' && host.name === 'localhost' ? { kind: 'address', address: '127.0.0.1' } : host,
  port,
});

/** Whether a connection to `host` at `port`, as written, reaches the service. */
export const isOwnService = (service: OwnService, host: Host, port: number): boolean =>
  isOwnPort(service, port) &&
  (sameHost(service.host, host) ||
    (service.host.kind === 'address' &&
      host.kind === 'address' &&
      sameAddress(service.host.address, host.address)));

export const isOwnPort = (service: OwnService, port: number): boolean =>
  service.port === undefined || service.port === port;

/** Whether two addresses reach the same machine, judged only by the addresses. */
export const sameAddress = (one: string, other: string): boolean =>
  one === other || (thisMachine.includes(one) && thisMachine.includes(other));

/** The servers in NATS_URL, as `host:port`. */
export const brokerHosts = (urls: string): string[] =>
  urls.split(',').flatMap((text) => brokerHost(text.trim()));

const brokerHost = (text: string): string[] =>
  hostIn(/^[a-z]+:\/\//i.test(text) ? text : `nats://${text}`, '4222');

/** The host of an http or https URL, as `host:port`; empty for any other text. */
export const httpHost = (text: string): string[] => hostIn(text, text.startsWith('https:') ? '443' : '80');

const hostIn = (text: string, defaultPort: string): string[] => {
  const url = URL.parse(text);
  return url && url.hostname !== '' ? [`${url.hostname}:${url.port || defaultPort}`] : [];
};
