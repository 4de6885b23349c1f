import type { RunKey } from '@runledger/contracts/events/subjects';
import { orgId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { settledLeader } from '@runledger/event-log/test/fixtures/cluster-log';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestCluster, type TestCluster } from '../../fixtures/gateway/a-cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await openTestCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

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
  const limits = { signal: AbortSignal.timeout(60_000), logger: silentLogger };
  const { kind } = await retryWhileUnavailable(limits, () => append(elsewhere, assigned(run), head));
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
