import { setTimeout as pause } from 'node:timers/promises';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { settledLeader } from '@runledger/event-log/test/fixtures/cluster-log';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
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
    await patient(() => catalogue(cut.elsewhere).deployments.put(created));
    expect(await statuses(() => cut.get(`/deployments/${created.id}`, tenant.key))).toEqual(new Set([503]));
  });
});

/**
 * In seconds: the others elect a leader within nine, and a leader that is cut off responds for some ten. A request that waits has
 * proven its key before the cut, so only the proof of its last read holds it back. The last ones are for elections on a slow machine.
 */
const WAITS_S = [
  ...Array.from({ length: 33 }, (_, n) => 4 + n / 4),
  ...Array.from({ length: 12 }, (_, n) => 13 + n),
];

interface Waited {
  readonly overAt: number;
  readonly status: number;
  readonly shown: unknown;
}

const waitAt = async (api: string, { run_id }: RunKey, seconds: number): Promise<Waited> => {
  const overAt = performance.now() + seconds * 1_000;
  const headers = { authorization: `Bearer ${cluster.tenant.key}` };
  const response = await fetch(`${api}/run/${run_id}?wait=${seconds}`, { headers });
  const { status: shown } = (await response.json()) as { readonly status?: unknown };
  return { overAt, status: response.status, shown };
};

/** When the next fact of a run was acknowledged by the others. */
const storedElsewhere = async (elsewhere: EventLog, run: RunKey, head: number): Promise<number> => {
  const { kind } = await patient(() => append(elsewhere, assigned(run), head));
  expect(kind).toBe('appended');
  return performance.now();
};

describe(
  'a request that waits at a gateway whose broker led the log and is cut off',
  { timeout: 120_000 },
  () => {
    it('shows nothing older than what was acknowledged elsewhere', async () => {
      const { brokers, gateways, log, tenant } = cluster;
      const run = { ...aRun(), org_id: orgId(tenant.org_id) };
      const first = await append(log, queued(run), 0);
      const head = first.kind === 'appended' ? first.sequence : 0;
      const number = await settledLeader(cluster.log);
      const [gateway, other] = [gateways[number], brokers.servers[(number + 1) % 3]];
      if (!gateway || !other) throw new Error(`there is no broker ${number}`);
      await using elsewhere = await openEventLog({ url: other.url, name: 'test' }, silentLogger);
      const waiting = Promise.all(WAITS_S.map((seconds) => waitAt(gateway.api, run, seconds)));
      await waitFor('all requests to wait', async () => {
        const open = await gateway.metrics.getSingleMetric('runledger_gateway_open_waits')?.get();
        return open?.values[0]?.value === WAITS_S.length;
      });
      brokers.cutOff(number, 'stall');
      try {
        const acknowledgedAt = await storedElsewhere(elsewhere, run, head);
        const later = (await waiting).filter(({ overAt }) => overAt > acknowledgedAt);
        expect(later.length).toBeGreaterThan(0);
        expect(later.filter(({ shown }) => shown === 'queued')).toEqual([]);
      } finally {
        brokers.heal();
      }
    });
  },
);
