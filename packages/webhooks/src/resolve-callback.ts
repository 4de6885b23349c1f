import { canonicalAddress, whyNotPublic, hostOf, type Host, isOwnPort, sameAddress } from './hosts.ts';
import {
  isExempt,
  ownService,
  refuseAddress,
  refuseHost,
  type CallbackPolicy,
  checkParsedUrl,
  portOf,
  checkCallbackUrl,
} from './callback-policy.ts';
import type { NameResolver, Resolution } from './name-resolver.ts';

/** Where a callback may connect to now; `allowed` has at least one address, none with brackets. */
export type CallbackAddresses =
  | { readonly kind: 'allowed'; readonly addresses: readonly string[]; readonly arePublic: boolean }
  | { readonly kind: 'forbidden'; readonly why: string }
  | Exclude<Resolution, { kind: 'addresses' }>;

export interface ResolvingParts {
  readonly policy: CallbackPolicy;
  readonly resolver: NameResolver;
}

/**
 * The addresses of a URL's host, if all of them are allowed. One forbidden address forbids the name, because its DNS server
 * chooses which address is used. Connect to these addresses only, and check the peer with `mayConnect`. Rejects with the signal's
 * reason when it is aborted first.
 */
export const resolveCallback = async (
  url: URL,
  { policy, resolver }: ResolvingParts,
  signal: AbortSignal,
): Promise<CallbackAddresses> => {
  const verdict = checkParsedUrl(url, policy);
  if (!verdict.ok) return { kind: 'forbidden', why: verdict.why };
  const host = hostOf(url.hostname);
  const port = portOf(url);
  const [found, own] = await Promise.all([
    addressesOf(host, policy, resolver, signal),
    ownAddresses(port, { policy, resolver }, signal),
  ]);
  if (found.kind !== 'addresses') return found;
  const addresses = [...new Set(found.addresses.map((address) => canonicalAddress(address) ?? address))];
  for (const address of addresses) {
    const why = refuseAddress(policy, host, address, port);
    if (why !== undefined) return { kind: 'forbidden', why };
  }
  return compareWithOwn(addresses, own, host, port);
};

/** Whether a connection for `host` (of the URL) may have this peer. */
export const mayConnect = (policy: CallbackPolicy, host: string, address: string, port: number): boolean => {
  const peer = canonicalAddress(address);
  const named = hostOf(host);
  if (peer === undefined || (named.kind === 'address' && named.address !== peer)) return false;
  return (
    refuseHost(policy, named, port) === undefined && refuseAddress(policy, named, peer, port) === undefined
  );
};

const LOCALHOST: Resolution = { kind: 'addresses', addresses: ['127.0.0.1', '::1'] };

const addressesOf = async (
  host: Host,
  policy: CallbackPolicy,
  resolver: NameResolver,
  signal: AbortSignal,
): Promise<Resolution> => {
  if (host.kind === 'address') return { kind: 'addresses', addresses: [host.address] };
  if (host.name === 'localhost' && isExempt(policy, host)) return LOCALHOST;
  return resolver.resolve(host.name, signal);
};

/** The addresses of own services that are configured by name and could be reached at the port. */
const ownAddresses = (
  port: number,
  { policy, resolver }: ResolvingParts,
  signal: AbortSignal,
): Promise<Resolution[]> =>
  Promise.all(
    policy.ownServices.flatMap((service) =>
      service.host.kind === 'name' && isOwnPort(service, port)
        ? [resolver.resolve(service.host.name, signal)]
        : [],
    ),
  );

const compareWithOwn = (
  addresses: readonly string[],
  own: readonly Resolution[],
  host: Host,
  port: number,
): CallbackAddresses => {
  for (const service of own) {
    switch (service.kind) {
      case 'addresses': {
        const isHit = addresses.some((address) =>
          service.addresses.some((taken) => sameAddress(canonicalAddress(taken) ?? taken, address)),
        );
        if (isHit) return { kind: 'forbidden', why: ownService(host, port) };
        break;
      }
      case 'not_found':
        break;
      // Without its address, the callback could reach the service. This is a failure on our side, so it is tried again later.
      case 'unanswered':
      case 'no_server':
        return { kind: 'no_server', why: 'DNS gave no answer for the name of a service of Runledger itself' };
    }
  }
  return {
    kind: 'allowed',
    addresses,
    arePublic: addresses.every((address) => whyNotPublic(address) === undefined),
  };
};

/** Applies the whole policy before every attempt: it may have changed since the run was queued, and so may the name's addresses. */
export const resolveChecked =
  (parts: { readonly policy: CallbackPolicy; readonly resolver: NameResolver }) =>
  async (url: URL, signal: AbortSignal): Promise<CallbackAddresses> => {
    const verdict = checkCallbackUrl(url.href, parts.policy);
    return verdict.ok ? resolveCallback(verdict.url, parts, signal) : { kind: 'forbidden', why: verdict.why };
  };
