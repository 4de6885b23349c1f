import { setTimeout as pause } from 'node:timers/promises';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { settledLeader } from '@runledger/event-log/test/fixtures/cluster-log';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/records/keys/api-keys.ts';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { openTestCluster, type TestCluster } from '../../fixtures/gateway/a-cluster.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await openTestCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const patient = <Result>(work: () => Promise<Result>): Promise<Result> =>
  retryWhileUnavailable({ signal: AbortSignal.timeout(60_000), logger: silentLogger }, work);

/** A gateway at the broker that led a bucket and is cut off from the other two, and a connection to one of those. */
const atFormerLeader = async (bucket: string) => {
  const { brokers, gateways } = cluster;
  const number = await settledLeader(cluster.log, `KV_${bucket}`);
  const gateway = gateways[number];
  const other = brokers.servers[(number + 1) % 3];
  if (!gateway || !other) throw new Error(`there is no broker ${number}`);
  const opened = new AsyncDisposableStack();
  const elsewhere = opened.use(await openEventLog({ url: other.url, name: 'test' }, silentLogger));
  const get = async (path: string, key: string): Promise<number> =>
    (await fetch(`${gateway.api}${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
  await waitFor('the gateway to answer', async () => (await get(here(), cluster.tenant.key)) === 200);
  brokers.cutOff(number, 'stall');
  opened.defer(() => brokers.heal());
  return { elsewhere, get, [Symbol.asyncDispose]: () => opened.disposeAsync() };
};

/** The status of each response for five seconds. */
const statuses = async (get: () => Promise<number>): Promise<Set<number>> => {
  const seen = new Set<number>();
  for (const until = performance.now() + 5_000; performance.now() < until;) {
    seen.add(await get());
    await pause(20);
  }
  return seen;
};

const here = (): string => `/deployments/${cluster.tenant.deployment.id}`;

describe('a gateway at a broker that is cut off from the others', { timeout: 120_000 }, () => {
  it('accepts no key that was revoked', async () => {
    const key = await aKey(cluster.log, cluster.tenant, {});
    await using cut = await atFormerLeader('KEYS');
    await patient(() => revokeApiKey(cut.elsewhere, key));
    // Its broker may still have the key, and does not know that it was replaced.
    expect(await statuses(() => cut.get(here(), key))).toEqual(new Set([503]));
  });

  it('does not say that a record is missing that was created elsewhere', async () => {
    const { tenant } = cluster;
    await using cut = await atFormerLeader('CATALOGUE');
    const created: Deployment = { ...tenant.deployment, id: newUuid(), name: `deployment-${newUuid()}` };
    await patient(() => catalogue(cut.elsewhere).putDeployment(created));
    expect(await statuses(() => cut.get(`/deployments/${created.id}`, tenant.key))).toEqual(new Set([503]));
  });
});
