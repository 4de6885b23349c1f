import { Resolver } from 'node:dns/promises';
import { unlessAborted } from '@runledger/resilience/abort';
import { answeredNames } from './answered-names.ts';
import { canonicalAddress } from '../hosts/address-rule.ts';
import { joinAnswers, readAnswer, type Resolution } from './dns-answer.ts';
import { dnsOutage } from './dns-outage.ts';

export type { Resolution } from './dns-answer.ts';

export interface NameResolver {
  /**
   * The addresses of a name, IPv4 and IPv6, from DNS alone: no hosts file, no search list.
   * Rejects with the signal's reason if it is aborted first. The query continues for the next caller.
   */
  resolve(name: string, signal: AbortSignal): Promise<Resolution>;
}

export interface NameResolverOptions {
  /** `ip` or `ip:port`; an empty list for the servers of the system. */
  readonly servers: readonly string[];
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Two seconds, then at most three: a query without response ends within the 15 s of a delivery attempt, and a lost packet is sent again. */
const QUERY_LIMITS = { timeout: 2_000, tries: 2, maxTimeout: 3_000 };
/** The limit of names that are being resolved. Each takes a few seconds at most. */
const MAX_QUERIES = 10_000;

/**
 * Resolves by c-ares, which needs no threads: `dns.lookup` has a few threads for all names, and names without response
 * block them. Equal queries are sent once, and results are kept for a few seconds. Disposing cancels the running queries.
 * @throws {RangeError} for a server that is not an IP address, with or without a port
 */
export const nameResolver = ({ servers, clock }: NameResolverOptions): NameResolver & Disposable => {
  const running = new Map<string, Promise<Resolution>>();
  const answered = answeredNames(clock);
  const outage = dnsOutage(clock);
  let channel = openChannel(servers);

  const query = async (name: string): Promise<Resolution> => {
    const used = channel;
    outage.queried();
    const families = await Promise.all([
      used.resolve4(name).then((addresses) => ({ addresses }), readAnswer),
      used.resolve6(name).then((addresses) => ({ addresses }), readAnswer),
    ]);
    outage.answered(name, families);
    const resolved = joinAnswers(name, families, outage.isTotal());
    // The servers of the system may have changed, for example with the network. A channel reads them once.
    if (resolved.kind === 'no_server' && servers.length === 0 && used === channel) channel = openChannel([]);
    return resolved;
  };

  const queryOnce = (name: string): Promise<Resolution> => {
    const known = running.get(name);
    if (known !== undefined) return known;
    if (running.size >= MAX_QUERIES)
      return Promise.resolve({
        kind: 'no_server',
        why: `${MAX_QUERIES} names are being resolved; try again later`,
      });
    const answer = query(name)
      .then((resolved) => answered.keep(name, resolved))
      .finally(() => running.delete(name));
    running.set(name, answer);
    return answer;
  };

  return {
    resolve: async (name, signal) => {
      signal.throwIfAborted();
      return answered.get(name) ?? (await unlessAborted(queryOnce(name), signal));
    },
    [Symbol.dispose]: () => channel.cancel(),
  };
};

const openChannel = (servers: readonly string[]): Resolver => {
  const channel = new Resolver(QUERY_LIMITS);
  if (servers.length > 0) channel.setServers(servers.map(readDnsServer));
  return channel;
};

/** @throws {RangeError} with examples of a valid server */
export const readDnsServer = (text: string): string => {
  const [, host = text, port = '53'] = /^(\[.*\]|[^:]*):(\d{1,5})$/.exec(text) ?? [];
  const address = canonicalAddress(host);
  if (address === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(
      `${JSON.stringify(text.slice(0, 80))} is not a DNS server: write its IP address, such as 10.0.0.2, 10.0.0.2:5353 or [fd00::2]:53`,
    );
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
};
