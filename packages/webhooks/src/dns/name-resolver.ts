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
   * Rejects with the signal's reason when it is aborted first. The query goes on for the next caller.
   */
  resolve(name: string, signal: AbortSignal): Promise<Resolution>;
}

export interface NameResolverOptions {
  /** `ip` or `ip:port`; empty for those of the system. */
  readonly servers: readonly string[];
  /** Milliseconds that never go back. */
  readonly clock: () => number;
}

/** Two seconds, then at most three: a name without response ends within the 15 s of a delivery attempt, and lost packets are sent again. */
const QUERY_LIMITS = { timeout: 2_000, tries: 2, maxTimeout: 3_000 };
/** Each query takes at most some seconds. When so many names are being resolved, no more are accepted. */
const MAX_QUERIES = 10_000;

/**
 * Resolves by c-ares, which needs no threads: `dns.lookup` has a few threads for all names, and names without response
 * block them. Equal queries are sent once, and results are kept for a few seconds. Disposing cancels the running queries.
 * @throws {RangeError} for a server that is no IP address with or without port
 */
export const nameResolver = ({ servers, clock }: NameResolverOptions): NameResolver & Disposable => {
  const asked = new Map<string, Promise<Resolution>>();
  const answered = answeredNames(clock);
  const silence = dnsOutage(clock);
  let channel = openChannel(servers);

  const ask = async (name: string): Promise<Resolution> => {
    const used = channel;
    silence.asked();
    const families = await Promise.all([
      used.resolve4(name).then((addresses) => ({ addresses }), readAnswer),
      used.resolve6(name).then((addresses) => ({ addresses }), readAnswer),
    ]);
    silence.heard(name, families);
    const resolved = joinAnswers(name, families, silence.isTotal());
    // The system may have other servers by now, for example after a change of networks; a channel reads them once.
    if (resolved.kind === 'no_server' && servers.length === 0 && used === channel) channel = openChannel([]);
    return resolved;
  };

  const askOnce = (name: string): Promise<Resolution> => {
    const known = asked.get(name);
    if (known !== undefined) return known;
    if (asked.size >= MAX_QUERIES)
      return Promise.resolve({
        kind: 'no_server',
        why: `${MAX_QUERIES} names are being resolved already; try later`,
      });
    const answer = ask(name)
      .then((resolved) => answered.keep(name, resolved))
      .finally(() => asked.delete(name));
    asked.set(name, answer);
    return answer;
  };

  return {
    resolve: async (name, signal) => {
      signal.throwIfAborted();
      return answered.get(name) ?? (await unlessAborted(askOnce(name), signal));
    },
    [Symbol.dispose]: () => channel.cancel(),
  };
};

const openChannel = (servers: readonly string[]): Resolver => {
  const channel = new Resolver(QUERY_LIMITS);
  if (servers.length > 0) channel.setServers(servers.map(readDnsServer));
  return channel;
};

/** @throws {RangeError} that says what a server looks like */
export const readDnsServer = (text: string): string => {
  const [, host = text, port = '53'] = /^(\[.*\]|[^:]*):(\d{1,5})$/.exec(text) ?? [];
  const address = canonicalAddress(host);
  if (address === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(
      `${JSON.stringify(text.slice(0, 80))} is no DNS server: write its IP address, such as 10.0.0.2, 10.0.0.2:5353 or [fd00::2]:53`,
    );
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
};
