import { networks, whyNotPublic, type Networks } from '../hosts/address-rule.ts';
import { hostText, readHost, type Host } from '../hosts/host.ts';
import { whyNamePrivate } from '../hosts/name-rule.ts';
import { isOwnService, readOwnService, type OwnService } from '../hosts/own-service.ts';

export interface CallbackPolicySettings {
  /** Besides public addresses: `loopback`, a host name, an IP address, or a network such as 10.1.0.0/16. */
  readonly allow: readonly string[];
  readonly ports: readonly number[];
  /** `host:port`, or `host` for all its ports. Callbacks never reach these, even if another setting allows them. */
  readonly ownServices: readonly string[];
}

/** Which addresses callbacks may reach. Made by `callbackPolicy`; only this package uses its fields. */
export interface CallbackPolicy {
  readonly ports: ReadonlySet<number>;
  readonly allowedNames: ReadonlySet<string>;
  readonly allowedNetworks: Networks;
  readonly allowsLoopback: boolean;
  readonly ownServices: readonly OwnService[];
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

export interface HostRefusal {
  readonly refusal: 'name' | 'ip' | 'port';
  readonly why: string;
}

/** The refusal of a host, as written, by the rules for names, addresses and ports; undefined when they allow it. */
export const refuseHost = (policy: CallbackPolicy, host: Host, port: number): HostRefusal | undefined => {
  const own = refuseOwnService(policy, host, port);
  if (own !== undefined) return { refusal: host.kind === 'name' ? 'name' : 'ip', why: own };
  if (isExempt(policy, host)) return undefined;
  if (host.kind === 'address') {
    const why = refuseAddress(policy, host, host.address, port);
    if (why !== undefined) return { refusal: 'ip', why };
  } else {
    const why = whyNamePrivate(host.name);
    if (why !== undefined)
      return { refusal: 'name', why: `the host name ${host.name} ${why}; ${mayBeAllowed(host.name)}` };
  }
  if (policy.ports.has(port)) return undefined;
  const ports = [...policy.ports].join(', ');
  return {
    refusal: 'port',
    why: `port ${port} is not one of ${ports}; ${mayBeAllowed(hostText(host))}`,
  };
};

/** The reason why callbacks to `host` may not connect to this canonical address of it; undefined if they may. */
export const refuseAddress = (
  policy: CallbackPolicy,
  host: Host,
  address: string,
  port: number,
): string | undefined => {
  const own = refuseOwnService(policy, { kind: 'address', address }, port);
  if (own !== undefined) return own;
  if (policy.allowedNetworks.includes(address)) return undefined;
  if (host.kind === 'name' && policy.allowedNames.has(host.name)) return undefined;
  const why = whyNotPublic(address);
  return why && `the address ${address} is not public (${why}); ${mayBeAllowed(address)}`;
};

const refuseOwnService = (policy: CallbackPolicy, host: Host, port: number): string | undefined =>
  policy.ownServices.some((service) => isOwnService(service, host, port))
    ? ownService(host, port)
    : undefined;

/** Without the name of a setting, because no setting can allow it. */
export const ownService = (host: Host, port: number): string =>
  `${hostText(host)} at port ${port} is a service of Runledger itself, which callbacks never reach`;

const mayBeAllowed = (entry: string): string =>
  `the operator can allow it with ${entry} in RUNLEDGER_WEBHOOK_ALLOW`;
