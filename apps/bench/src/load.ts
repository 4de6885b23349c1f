import { setTimeout as pause } from 'node:timers/promises';
import { atOnce } from '@runledger/testing/at-once';
import autocannon from 'autocannon';
import type { Api, MeasuredStandalone } from './system/measured-standalone.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 1;

/** The same requests again and again, by paths that take turns. */
interface Requests {
  readonly paths: readonly string[];
  /** POST with these bodies in turns; GET without them. */
  readonly bodies?: readonly object[];
  /** The keys of those who ask, in turns, instead of that of the API. */
  readonly keys?: readonly string[];
  readonly onAnswer?: (body: string) => void;
}

interface ClosedLoop {
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
    // Each has its part of them: of all of them it would take longer to make its requests than the server to answer.
    setupClient: (client) => {
      const part = clients++ % count;
      client.setRequests(requests.filter((_, n) => n % connections === part));
    },
    ...('amount' in length ? { amount: length.amount } : { duration: length.seconds }),
  });
  const seconds = (performance.now() - began) / 1_000;
  const refused = result.non2xx + result.errors + result.timeouts;
  if (refused > 0) throw new Error(`${refused} of ${result.requests.total} requests to ${paths[0]} failed`);
  const { p50, p99 } = result.latency;
  return { perSecond: result['2xx'] / (result.duration || seconds), p50, p99, seconds };
};

export const QUEUE = '/run/deployment/queue';

/** What a request to queue a run of a deployment says: inputs of about 200 bytes. */
export const queueBody = (deployment_id: string): object => ({
  deployment_id,
  inputs: {
    prompt: 'a lighthouse on a cliff at dusk, volumetric light, 35mm, high detail',
    negative_prompt: 'blurry, low quality, watermark',
    seed: 1_234_567,
    steps: 30,
    cfg: 7.5,
    width: 1_024,
    height: 1_024,
    sampler: 'euler',
  },
});

interface QueuedRuns {
  /** In the order of the answers. */
  readonly ids: readonly string[];
  readonly loop: ClosedLoop;
}

/** Queues so many runs over 64 connections, as fast as is answered. */
export const queueRuns = async (api: Api, deployment: string, amount: number): Promise<QueuedRuns> => {
  const ids: string[] = [];
  const onAnswer = (answer: string): void => {
    ids.push((JSON.parse(answer) as { readonly run_id: string }).run_id);
  };
  const loop = await closedLoop(
    api,
    { paths: [QUEUE], bodies: [queueBody(deployment)], onAnswer },
    { amount },
  );
  return { ids, loop };
};

const READERS = 16;
const ASK_EVERY_MS = 20;

/** Asks until the run shows its end, and gives it. @throws when it did not succeed */
export const endedRun = async (
  { call }: Pick<MeasuredStandalone, 'call'>,
  id: string,
  askEveryMs = ASK_EVERY_MS,
): Promise<Record<string, unknown>> => {
  for (;;) {
    const run = await call(`/run/${id}`);
    if (run['finished'] === true) {
      if (run['status'] !== 'success') throw new Error(`run ${id} failed: ${JSON.stringify(run['error'])}`);
      return run;
    }
    await pause(askEveryMs);
  }
};

/** Reads each once when it has ended, 16 at a time. */
export const endedRuns = (
  system: Pick<MeasuredStandalone, 'call'>,
  ids: readonly string[],
): Promise<Record<string, unknown>[]> => atOnce(READERS, ids, (id) => endedRun(system, id));
