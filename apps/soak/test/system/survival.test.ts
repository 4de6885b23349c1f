import { setTimeout as pause } from 'node:timers/promises';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { shiftedClock } from '@runledger/testing/shifted-clock';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunPlan } from '../../src/clients/plan.ts';
import { MISSING_GPU } from '../../src/cluster/organisation.ts';
import { aCluster, type TestCluster } from './a-cluster.ts';

const HOUR_MS = 3_600_000;
/** Longer than a lease, a claim on a partition, and the time until an executor counts as lost. */
const LONG_MS = 5_000;
const SLOW = { timeout: 240_000 };

let all: TestCluster;
beforeAll(async () => {
  // The clocks of broker, database, clients and receiver are right.
  all = await aCluster({
    more: (part) => shiftedClock(part.endsWith('-1') ? HOUR_MS : -HOUR_MS),
  });
}, 180_000);
afterAll(() => all[Symbol.asyncDispose]());

/** Each kind of run, and each way to follow one. */
const EVERY: readonly Partial<RunPlan>[] = [
  { webhook: 'every state', follow: 'streams' },
  { work: { what: 'file', seconds: '0.1' } },
  { work: { what: 'failure', seconds: '0.1' }, follow: 'polls' },
  { work: { what: 'success', seconds: '60' }, cancelAfterMs: 1_000 },
  { deployment: 'shortTimeout', work: { what: 'success', seconds: '60' } },
  { deployment: 'shortDeadline', gpu: MISSING_GPU },
  { rerun: true },
];
/** Without idempotency keys: the gateway looks for those in the views too, so that requests with one need the views. */
const WITHOUT_KEYS = EVERY.filter(({ rerun }) => rerun !== true).map((plan) => ({ ...plan, key: null }));
const LONG: Partial<RunPlan> = { work: { what: 'success', seconds: '4' }, follow: 'streams' };

/** The number of facts with such a subject. */
const countOf = async (stream: 'RUNS' | 'FLEET', subjects_filter: string): Promise<number> => {
  const { state } = await all.cluster.log.jsm.streams.info(stream, { subjects_filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};
const requeuedRuns = (): Promise<number> => countOf('RUNS', 'runs.*.*.life.requeued.>');
const lostExecutors = (): Promise<number> => countOf('FLEET', 'fleet.*.*.lost');
const untilStarted = async (before: number): Promise<void> =>
  void (await waitFor('a run to start', async () => (await started()) > before));
const started = (): Promise<number> => countOf('RUNS', 'runs.*.*.life.started.>');

describe('services whose clocks are an hour off, one ahead and the other behind', () => {
  it('end every run correctly, and keep every guarantee', SLOW, async () => {
    await all.load(EVERY);
    expect(await all.violations()).toEqual([]);
  });
});

describe('a broker that is slow', () => {
  it('loses no run and no executor', SLOW, async () => {
    const before = [await requeuedRuns(), await lostExecutors()];
    const end = new AbortController();
    const slow = async (): Promise<void> => {
      while (!end.signal.aborted) {
        await all.part('broker-1').inject('pause', 1_200);
        await pause(100);
      }
    };
    const slowing = slow();
    const timeout = setTimeout(() => end.abort(), 2 * LONG_MS);
    await all.load([...EVERY, LONG, LONG]);
    clearTimeout(timeout);
    end.abort();
    await slowing;
    expect(await all.violations()).toEqual([]);
    expect([await requeuedRuns(), await lostExecutors()]).toEqual(before);
  });
});

describe('without the database', () => {
  it(
    'runs can be queued, read and cancelled; lists answer 503, and are complete afterwards',
    SLOW,
    async (context) => {
      if (all.cluster.views === 'SQLite') return context.skip('no database can run here');
      const listed = async (): Promise<number> => (await all.list()).status;
      expect(await listed()).toBe(200);
      const from = all.exchanges.length;
      const stopBroker = async (): Promise<void> => {
        // First it does not answer, then it is down.
        await all.part('database').inject('pause', LONG_MS);
        await all.part('database').inject('kill', LONG_MS);
      };
      const outage = stopBroker();
      await waitFor('lists to answer 503', async () => (await listed()) === 503);
      await all.load([...WITHOUT_KEYS, { ...LONG, key: null }]);
      await outage;
      const unanswered = all.exchanges
        .slice(from)
        .filter(({ answer }) => answer.kind === 'refused' || answer.kind === 'lost');
      expect(unanswered).toEqual([]);
      expect(await all.violations()).toEqual([]);
      expect(await listed()).toBe(200);
    },
  );
});

describe('services that are paused for longer than their leases', () => {
  it('find that others took over, and do no harm', SLOW, async () => {
    const before = await started();
    const loading = all.load([...EVERY, ...Array.from({ length: 6 }, () => LONG)]);
    await untilStarted(before);
    // One half or the other has the leading scheduler, the projecting gateway, running runs and owned partitions.
    for (const number of ['-1', '-2']) {
      const half = all.services.filter(({ name }) => name.endsWith(number));
      await Promise.all(half.map((part) => part.inject('pause', LONG_MS)));
    }
    await loading;
    expect(await all.violations()).toEqual([]);
  });
});

// In the gate, stop-under-load.test.ts of the standalone says so of one of each service.
describe.runIf(IS_NIGHTLY)('a stop of every service by SIGTERM while runs execute', () => {
  it('is clean, and every accepted run ends after the restart', SLOW, async () => {
    const before = await started();
    const loading = all.load([...EVERY, LONG, LONG, LONG]);
    await untilStarted(before);
    await Promise.all(all.services.map((part) => part.inject('stop', 0)));
    await loading;
    expect(await all.violations()).toEqual([]);
    const { stops } = all.cluster.journal;
    expect(stops.map(({ part, endKind }) => `${part} ${endKind}`).sort()).toEqual(
      all.services.map(({ name }) => `${name} clean`).sort(),
    );
  });
});
