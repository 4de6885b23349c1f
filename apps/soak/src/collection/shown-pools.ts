import { setTimeout as pause } from 'node:timers/promises';
import { QueuesPage } from '@runledger/contracts/http/queues';
import type { Pool } from '@runledger/contracts/requests/pools';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { Cluster } from '../cluster/cluster.ts';
import { isIdle } from '../evidence/evidence.ts';

const Page = compiledSchema(QueuesPage);
const WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 10_000;
const AGAIN_AFTER_MS = 1_000;

/** Who waits and who holds slots, as soon as nobody does or the time is up; undefined if no gateway has said so. */
export const shownPools = async ({
  gateways,
  operatorKey,
}: Pick<Cluster, 'gateways' | 'operatorKey'>): Promise<readonly Pool[] | undefined> => {
  let pools: readonly Pool[] | undefined;
  const deadline = performance.now() + WITHIN_MS;
  for (let tries = 0; performance.now() < deadline; tries += 1) {
    pools = (await read(gateways[tries % gateways.length] ?? '', operatorKey)) ?? pools;
    if (pools?.every(isIdle)) return pools;
    await pause(AGAIN_AFTER_MS);
  }
  return pools;
};

const read = async (gateway: string, operatorKey: string): Promise<readonly Pool[] | undefined> => {
  try {
    const response = await fetch(`${gateway}/queues`, {
      headers: { authorization: `Bearer ${operatorKey}` },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const body: unknown = await response.json();
    return Page.Check(body) ? body.pools : undefined;
  } catch {
    return undefined;
  }
};
