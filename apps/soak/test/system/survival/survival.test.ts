import { setTimeout as pause } from 'node:timers/promises';
import { shiftedClock } from '@runledger/testing/time/shifted-clock';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunPlan } from '../../../src/clients/plan.ts';
import { MISSING_GPU } from '../../../src/cluster/organisation.ts';
import { aCluster, type TestCluster } from './a-cluster.ts';

const HOUR_MS = 3_600_000;
/** More than what a lease, a share of a notifier and the silence of an executor last. */
const LONG_MS = 5_000;
const SLOW = { timeout: 240_000 };

let all: TestCluster;
beforeAll(async () => {
  // All the while: broker, database, clients and receivers are right.
  all = await aCluster({
    more: (part) => shiftedClock(part.endsWith('-1') ? HOUR_MS : -HOUR_MS),
  });
}, 180_000);
afterAll(() => all[Symbol.asyncDispose]());

/** One of each kind of run, and of each way to watch one. */
const EVERY: readonly Partial<RunPlan>[] = [
  { webhook: 'every state', watch: 'streams' },
  { work: { what: 'file', seconds: '0.1' } },
  { work: { what: 'failure', seconds: '0.1' }, watch: 'looks' },
  { work: { what: 'success', seconds: '60' }, cancelAfter: 1_000 },
  { deployment: 'hasty', work: { what: 'success', seconds: '60' } },
  { deployment: 'impatient', gpu: MISSING_GPU },
  { rerun: true },
];
/** Whether a key was used is known to the views too: with one, runs are queued when those are there. */
const WITHOUT_KEYS = EVERY.filter(({ rerun }) => rerun !== true).map((plan) => ({ ...plan, key: null }));
const LONG: Partial<RunPlan> = { work: { what: 'success', seconds: '4' }, watch: 'streams' };

/** How many facts of the type the log has of all runs. */
const countOf = async (stream: 'RUNS' | 'FLEET', subjects_filter: string): Promise<number> => {
  const { state } = await all.cluster.log.jsm.streams.info(stream, { subjects_filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};
const begunAgain = (): Promise<number> => countOf('RUNS', 'runs.*.*.life.requeued.>');
const lostExecutors = (): Promise<number> => countOf('FLEET', 'fleet.*.*.lost');
const untilStarted = async (before: number): Promise<void> =>
  void (await waitFor('a run to be under way', async () => (await started()) > before));
const started = (): Promise<number> => countOf('RUNS', 'runs.*.*.life.started.>');

describe('services whose clocks are an hour off, one ahead and the other behind', () => {
  it('end every run as it should end, and keep every guarantee', SLOW, async () => {
    await all.load(EVERY);
    expect(await all.violations()).toEqual([]);
  });
});

describe('a broker that is slow', () => {
  it('loses no run and takes nobody for dead', SLOW, async () => {
    const before = [await begunAgain(), await lostExecutors()];
    const over = new AbortController();
    const slow = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await all.part('broker').inject('pause', 1_200);
        await pause(100);
      }
    };
    const slowing = slow();
    const calm = setTimeout(() => over.abort(), 2 * LONG_MS);
    await all.load([...EVERY, LONG, LONG]);
    clearTimeout(calm);
    over.abort();
    await slowing;
    expect(await all.violations()).toEqual([]);
    expect([await begunAgain(), await lostExecutors()]).toEqual(before);
  });
});

describe('a database that is away', () => {
  it(
    'keeps nobody from queueing, reading and cancelling; lists say so, and have everything afterwards',
    SLOW,
    async (context) => {
      if (all.cluster.views === 'memory') return context.skip('there is no database here');
      const listed = async (): Promise<number> => (await all.list()).status;
      expect(await listed()).toBe(200);
      const from = all.exchanges.length;
      const away = async (): Promise<void> => {
        // It answers nothing, and then nobody is there.
        await all.part('database').inject('pause', LONG_MS);
        await all.part('database').inject('kill', LONG_MS);
      };
      const striking = away();
      await waitFor('lists to say it', async () => (await listed()) === 503);
      await all.load([...WITHOUT_KEYS, { ...LONG, key: null }]);
      await striking;
      const unanswered = all.exchanges
        .slice(from)
        .filter(({ answer }) => answer.kind === 'refused' || answer.kind === 'lost');
      expect(unanswered).toEqual([]);
      expect(await all.violations()).toEqual([]);
      expect(await listed()).toBe(200);
    },
  );
});

describe('services that are stopped for longer than their leases, and go on', () => {
  it('find that the others went on without them, and spoil nothing', SLOW, async () => {
    const before = await started();
    const loading = all.load([...EVERY, ...Array.from({ length: 6 }, () => LONG)]);
    await untilStarted(before);
    // Each half has the scheduler that leads, the gateway that projects, and runs and shares that are under way, at some time.
    for (const number of ['-1', '-2']) {
      const half = all.services.filter(({ name }) => name.endsWith(number));
      await Promise.all(half.map((part) => part.inject('pause', LONG_MS)));
    }
    await loading;
    expect(await all.violations()).toEqual([]);
  });
});

describe('a stop of every service by SIGTERM, with runs under way', () => {
  it('is clean, and all that was accepted ends when they are there again', SLOW, async () => {
    const before = await started();
    const loading = all.load([...EVERY, LONG, LONG, LONG]);
    await untilStarted(before);
    await Promise.all(all.services.map((part) => part.inject('stop', 0)));
    await loading;
    expect(await all.violations()).toEqual([]);
    const { stops } = all.cluster.journal;
    expect(stops.map(({ part, endKind: manner }) => `${part} ${manner}`).sort()).toEqual(
      all.services.map(({ name }) => `${name} clean`).sort(),
    );
  });
});
