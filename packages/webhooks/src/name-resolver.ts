import { Resolver } from 'node:dns/promises';
import { unlessAborted } from '@runledger/resilience/abort';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { canonicalAddress } from './hosts.ts';

/** The outcome of a query for the addresses of a name. */
export type Resolution =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** DNS says that the name does not exist, or has no address. */
  | { readonly kind: 'not_found'; readonly why: string }
  /** The servers of the name gave no response, or a broken one: a failure on the side of the name. */
  | { readonly kind: 'unanswered'; readonly why: string }
  /** No DNS server could be reached: a failure on our side. */
  | { readonly kind: 'no_server'; readonly why: string };

/** The outcome of a query for one address family; `code` is one of c-ares. */
type FamilyAnswer = { readonly addresses: readonly string[] } | { readonly code: string };

/** A failed query as a value. An error that does not come from DNS is a bug and is thrown. */
const readAnswer = (error: unknown): FamilyAnswer => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
    return { code: error.code };
  throw error;
};

/** Whether a DNS server responded at all, even with a refusal. */
const isResponse = (answer: FamilyAnswer): boolean => 'addresses' in answer || !NO_RESPONSE.has(answer.code);

const NO_RESPONSE = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EBADNAME']);

/**
 * One result for both families. Addresses of one family are enough: some name servers never respond for IPv6, and only
 * known addresses are connected to. `isOutage` means that no DNS server responds at all.
 */
const joinAnswers = (name: string, answers: readonly FamilyAnswer[], isOutage: boolean): Resolution => {
  const addresses = answers.flatMap((answer) => ('addresses' in answer ? answer.addresses : []));
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  const codes = answers.map((answer) => ('code' in answer ? answer.code : 'ENODATA'));
  if (codes.includes('ECONNREFUSED'))
    return {
      kind: 'no_server',
      why: `every DNS server refuses connections (ECONNREFUSED, query for ${name})`,
    };
  if (codes.includes('ETIMEOUT') && isOutage)
    return { kind: 'no_server', why: `no DNS server answers any query (ETIMEOUT, last query for ${name})` };
  const failed = codes.find((code) => !NO_SUCH.has(code));
  return failed === undefined
    ? { kind: 'not_found', why: `the name ${name} has no address in DNS (${codes[0] ?? 'ENODATA'})` }
    : { kind: 'unanswered', why: `DNS gave no answer for the name ${name} (${failed})` };
};

/** EBADNAME: a name that cannot be in a query. */
const NO_SUCH = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

export interface NameResolver {
  /**
   * The addresses of a name, IPv4 and IPv6, from DNS alone: no hosts file, no search list.
   * Rejects with the signal's reason if it is aborted first. The query continues for the next caller.
   */
  resolve(name: string, signal: AbortSignal): Promise<Resolution>;
}

interface NameResolverOptions {
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

/** How long a response counts, because a name may change its addresses at any time. Its time to live is ignored. */
const KEPT_MS = 5_000;
const MAX_NAMES = 10_000;

interface AnsweredNames {
  get(name: string): Resolution | undefined;
  /** Returns the given resolution. */
  keep(name: string, resolution: Resolution): Resolution;
}

/** The latest responses, so that many callbacks to one name need one query. */
export const answeredNames = (clock: () => number): AnsweredNames => {
  const names = new LRUCache<string, Resolution>({
    ...atMost(MAX_NAMES),
    // For the library, an entry expires when it is older than this.
    ttl: KEPT_MS - 1,
    ttlResolution: 0,
    // For the library, an entry with the time 0 never expires.
    perf: { now: () => clock() + 1 },
  });
  return {
    get: (name) => names.get(name),
    keep: (name, resolution) => {
      // A failure on our side says nothing about the name.
      if (resolution.kind !== 'no_server') names.set(name, resolution);
      return resolution;
    },
  };
};

const TOTAL_AFTER_MS = 30_000;

interface DnsOutage {
  queried(): void;
  answered(name: string, answers: readonly FamilyAnswer[]): void;
  isTotal(): boolean;
}

/**
 * Distinguishes unavailable DNS servers from names whose servers do not respond. Both look like a timeout, so this is a guess:
 * the DNS servers count as unavailable when at least two names got no response, and no server responded at all for 30 s since
 * the first query after the last response. The guess is wrong when every callback of an installation goes to such names. Their
 * deliveries then wait, as after a failure on our side, until another name is resolved.
 */
export const dnsOutage = (clock: () => number): DnsOutage => {
  let since: number | undefined;
  let unanswered: string | undefined;
  let severalUnanswered = false;
  return {
    queried: () => {
      since ??= clock();
    },
    answered: (name, answers) => {
      if (answers.some(isResponse)) {
        since = undefined;
        unanswered = undefined;
        severalUnanswered = false;
      } else {
        unanswered ??= name;
        severalUnanswered ||= unanswered !== name;
      }
    },
    isTotal: () => since !== undefined && severalUnanswered && clock() - since >= TOTAL_AFTER_MS,
  };
};
