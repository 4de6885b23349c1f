import type { TestNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger, type Readiness } from '../../../src/connect/observability.ts';
import { parseLogSettings } from '../../../src/provision/log-settings.ts';
import { ALL_STREAMS, awaitProvisioned, provision } from '../../../src/provision/provision.ts';
import { openServiceLog, type ServiceLogOptions } from '../../../src/provision/service-log.ts';
import { watchCopies } from '../../../src/provision/stream-copies.ts';
import { aClusterLog, type ClusterLog } from '../../fixtures/cluster-log.ts';

let cluster: ClusterLog;
let servers: readonly TestNats[];
let url: string;
let log: EventLog;

beforeAll(async () => {
  cluster = await aClusterLog();
  ({ log } = cluster);
  ({ servers, url } = cluster.brokers);
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** Of each stream, without repetitions. */
const copies = async (): Promise<readonly number[]> => {
  const streams = await Promise.all(ALL_STREAMS.map((name) => log.jsm.streams.info(name)));
  return [...new Set(streams.map(({ config }) => config.num_replicas))];
};
const maxBytes = async (): Promise<number> => (await log.jsm.streams.info('RUNS')).config.max_bytes;

/** What `/readyz` of a service says of the log. */
const readiness = async (): Promise<Readiness | undefined> => {
  await using open = new AsyncDisposableStack();
  const checks: ServiceLogOptions['checks'] = {};
  const config = { NATS_URL: url };
  const begun = { config, instance: 'service-1', logger: silentLogger, checks };
  await openServiceLog(begun, open, AbortSignal.timeout(60_000));
  return await checks['log']?.();
};

describe('a log with three copies', { timeout: 120_000 }, () => {
  it('keeps them when it is provisioned without a number of copies', async () => {
    // A leader that was just elected has not heard of the others yet.
    await waitFor('nobody to be missed', async () => (await provision(log)).away.length === 0);
    await provision(log, parseLogSettings('{"runsMaxBytes": 3000000000}'));
    expect(await copies()).toEqual([3]);
    expect(await maxBytes()).toBe(3_000_000_000);
  });

  it('creates what is missing with as many copies', async () => {
    await log.jsm.streams.delete('KV_RATES');
    await provision(log);
    expect(await copies()).toEqual([3]);
  });

  it('gives none of them up, and changes nothing, unless it is told to', async () => {
    const before = await maxBytes();
    await expect(provision(log, { replicas: 1, runsMaxBytes: 1_000_000_000 })).rejects.toThrow(
      /ask for 1 copies, and these streams have 3: RUNS, .*--allow-fewer-replicas/,
    );
    expect(await copies()).toEqual([3]);
    expect(await maxBytes()).toBe(before);
  });

  it('names the broker that is away, and goes on without it', async () => {
    await servers[2]?.kill9();
    // A leader that was just elected has not heard of the others yet.
    const { away } = await waitFor(
      'the others to miss it, and nobody else',
      async () => {
        const provisioned = await provision(log, { runsMaxBytes: 3_500_000_000 });
        return provisioned.away.length === 1 && provisioned;
      },
      { withinMs: 60_000 },
    );
    expect(away).toEqual(['n2']);
    expect(await maxBytes()).toBe(3_500_000_000);
    // The leader of each stream misses it, also of one that is never written.
    await using watch = watchCopies(log, ALL_STREAMS);
    await waitFor(
      'every leader to miss it',
      () => ALL_STREAMS.every((name) => watch.latest.get(name)?.away.includes('n2')),
      { withinMs: 60_000 },
    );
    expect(watch.latest.get('RUNS')).toMatchObject({
      wanted: 3,
      current: 2,
      away: ['n2'],
      hasQuorum: true,
      isClustered: true,
    });
    expect(await readiness()).toEqual({ ok: true, note: expect.stringMatching(/away, .*: n2/) });
    await servers[2]?.restart();
    await waitFor('a complete cluster', async () => (await provision(log)).away.length === 0, {
      withinMs: 60_000,
    });
  });

  it('names the two that are away, and not the one that is left', async () => {
    await Promise.all([servers[1]?.kill9(), servers[2]?.kill9()]);
    await waitFor(
      'the one that is left to miss them',
      async () => (await provision(log)).away.join() === 'n1,n2',
      { withinMs: 60_000 },
    );
    await Promise.all([servers[1]?.restart(), servers[2]?.restart()]);
    await waitFor('a complete cluster', async () => (await provision(log)).away.length === 0, {
      withinMs: 60_000,
    });
  });

  it('gives them up when it is told to, and the services accept that', async () => {
    await provision(log, { replicas: 1 }, { allowFewerReplicas: true });
    expect(await copies()).toEqual([1]);
    // Its leader still counts the copies that it gives up for a moment.
    const ready = await waitFor('a service to be ready', async () => {
      const now = await readiness();
      return now?.ok === true && now;
    });
    expect(ready).toEqual({ ok: true, note: expect.stringContaining('RUNS has one copy') });
    await awaitProvisioned(log, AbortSignal.timeout(60_000));
  });
});
