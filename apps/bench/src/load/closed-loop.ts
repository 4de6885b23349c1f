import autocannon from 'autocannon';
import type { Api } from '../system/measured-standalone.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 1;

/** The same requests again and again, by paths that take turns. */
export interface Requests {
  readonly paths: readonly string[];
  /** POST with these bodies in turns; GET without them. */
  readonly bodies?: readonly object[];
  /** The keys of those who ask, in turns, instead of that of the API. */
  readonly keys?: readonly string[];
  readonly onAnswer?: (body: string) => void;
}

export interface ClosedLoop {
  readonly perSecond: number;
  /** In ms. */
  readonly p50: number;
  readonly p99: number;
  readonly seconds: number;
}

/** Then the closed loop of so many seconds finds a process that has executed its code. */
export const warmUp = async (api: Api, requests: Requests, seconds: number): Promise<void> => {
  await closedLoop(api, requests, { seconds: Math.min(seconds, WARM_UP_SECONDS) });
};

/**
 * A closed loop: each of 64 connections sends its next request when the last one was answered, for some seconds, or until so many were sent.
 * @throws when one answer was not 200
 */
export const closedLoop = async (
  { url, key }: Api,
  { paths, bodies = [], keys = [key], onAnswer }: Requests,
  length: { readonly seconds: number } | { readonly amount: number },
): Promise<ClosedLoop> => {
  const { origin, pathname } = new URL(url);
  const texts = bodies.map((body) => JSON.stringify(body));
  const count = Math.max(paths.length, keys.length, texts.length);
  const requests = Array.from({ length: count }, (_, n) => ({
    method: texts.length === 0 ? ('GET' as const) : ('POST' as const),
    path: `${pathname}${paths[n % paths.length]}`,
    headers: { authorization: `Bearer ${keys[n % keys.length]}`, 'content-type': 'application/json' },
    ...(texts.length > 0 && { body: texts[n % texts.length] ?? '' }),
    ...(onAnswer && { onResponse: (_status: number, answer: string) => onAnswer(answer) }),
  }));
  const connections = 'amount' in length ? Math.min(CONNECTIONS, length.amount) : CONNECTIONS;
  let clients = 0;
  const began = performance.now();
  const result = await autocannon({
    url: origin,
    connections,
    // Each begins at another request, or all would ask for the same at the same time.
    setupClient: (client) => {
      const first = Math.floor((clients++ * requests.length) / connections);
      client.setRequests([...requests.slice(first), ...requests.slice(0, first)]);
    },
    ...('amount' in length ? { amount: length.amount } : { duration: length.seconds }),
    requests,
  });
  const seconds = (performance.now() - began) / 1_000;
  const refused = result.non2xx + result.errors + result.timeouts;
  if (refused > 0) throw new Error(`${refused} of ${result.requests.total} requests to ${paths[0]} failed`);
  const { p50, p99 } = result.latency;
  return { perSecond: result['2xx'] / (result.duration || seconds), p50, p99, seconds };
};
