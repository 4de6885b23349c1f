import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { historiesOf } from '../fixtures/log-of.ts';
import { descendantsOf, kill9 } from '../fixtures/processes.ts';
import { runApi, type RunApi, type RunShown } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { viewsInMongo, type StoredViews } from '../fixtures/stored-views.ts';

const RUNS = 50;
const PERIOD_S = 2;
const ALL_END_WITHIN_MS = 150_000;
const ENDS: ReadonlySet<string> = new Set([
  'RunSucceeded',
  'RunFailed',
  'RunCancelled',
  'RunTimedOut',
  'RunGivenUp',
  'RunCancelEnforced',
]);

describe('kill -9 during 50 runs', () => {
  let views: StoredViews | string;
  let standalone: Standalone;
  let api: RunApi;
  beforeAll(async () => {
    views = await viewsInMongo();
    const env = typeof views === 'string' ? {} : views.env;
    standalone = await startStandalone({
      env: { ...env, EXECUTOR_GPUS: 'A10G:8', RUNLEDGER_HEARTBEAT_PERIOD_S: String(PERIOD_S) },
    });
    api = runApi(standalone);
  }, 120_000);
  afterAll(async () => {
    await standalone.stop();
    if (typeof views !== 'string') await views[Symbol.asyncDispose]();
  });

  const parts: Readonly<Record<string, (context: TestContext) => Promise<void>>> = {
    gateway: async () => kill9(standalone.pid, 'services/gateway/src/main.ts'),
    scheduler: async () => kill9(standalone.pid, 'services/scheduler/src/main.ts'),
    executor: async () => kill9(standalone.pid, 'services/gpu-executor/src/main.ts'),
    'nats-server': async () => kill9(standalone.pid, 'nats-server.conf'),
    MongoDB: (context) => (typeof views === 'string' ? context.skip(views) : views.kill9AndRestart()),
  };

  /** All are queued, some run, and none has ended. */
  const underWay = async (): Promise<string[]> => {
    const runs = await Promise.all(Array.from({ length: RUNS }, () => api.queue({ seconds: 1, size: 32 })));
    const shown = await waitFor('some runs to run', async () => {
      const all = await Promise.all(runs.map((run) => api.get(run)));
      return all.some(({ status }) => status === 'running') && all;
    });
    expect(shown.filter(({ finished }) => finished)).toEqual([]);
    return runs;
  };

  const expectAllToEndOnce = async (runs: readonly string[]): Promise<void> => {
    const deadline = performance.now() + ALL_END_WITHIN_MS;
    const shown: RunShown[] = [];
    for (const run of runs) shown.push(await api.ended(run, deadline - performance.now()));
    expect(shown.map(({ status }) => status)).toEqual(runs.map(() => 'success'));
    for (const { facts } of await historiesOf(standalone.dataFolder, shown)) {
      expect(facts.filter(({ event }) => ENDS.has(event.type))).toHaveLength(1);
    }
    if (typeof views !== 'string') await views.equalTheLog(standalone.dataFolder, shown);
  };

  it.for(Object.entries(parts))(
    'of %s: all 50 end, none twice, and the views equal the log',
    { timeout: ALL_END_WITHIN_MS * 1.5 },
    async ([, kill], context) => {
      const runs = await underWay();
      await kill(context);
      await expectAllToEndOnce(runs);
    },
  );

  it(
    'of everything at once: all 50 end, none twice, and the views equal the log',
    { timeout: ALL_END_WITHIN_MS * 1.5 },
    async (context) => {
      const runs = await underWay();
      const { MongoDB, ...own } = parts;
      await Promise.all(Object.values(own).map((kill) => kill(context)));
      if (typeof views !== 'string') await MongoDB?.(context);
      await expectAllToEndOnce(runs);
    },
  );

  it(
    'of nats-server for three heartbeat periods starts no healthy run again',
    { timeout: ALL_END_WITHIN_MS },
    async () => {
      const runs = await Promise.all(
        Array.from({ length: 8 }, () => api.queue({ seconds: PERIOD_S * 3 + 4, size: 32 })),
      );
      for (const run of runs) await api.reaches(run, 'running', 30_000);
      const [broker] = descendantsOf(standalone.pid, 'nats-server.conf');
      if (broker === undefined) throw new Error('no nats-server runs');
      process.kill(broker, 'SIGSTOP');
      // The only wait by the clock: the test is about the length of the outage.
      await pause(PERIOD_S * 3 * 1_000);
      process.kill(broker, 'SIGCONT');
      for (const run of runs) {
        const ended = await api.ended(run, 60_000);
        expect(ended).toMatchObject({ status: 'success', compute_function_call_id: `${run}.1` });
      }
    },
  );
});
