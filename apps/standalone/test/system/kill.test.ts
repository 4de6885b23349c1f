import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@runledger/testing/wait-for';
import { IS_NIGHTLY, someOf } from '@runledger/testing/random/cases';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { historiesOf } from '../fixtures/log-of.ts';
import { descendantsOf, kill9 } from '../fixtures/processes.ts';
import { runApi, type RunApi, type RunShown } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { viewsInMongo, type StoredViews } from '../fixtures/stored-views.ts';

/** More than there are slots. */
const RUNS = IS_NIGHTLY ? 50 : 20;
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

/** Instead of the sample, which starts a Node process for each run. It ends a second after its run has a file in the folder. */
const program = (folder: string): object => ({
  command: '/bin/sh',
  args: [
    '-c',
    `echo '{"progress": 0.5}'
  until [ -e '${folder}'/"$RUNLEDGER_RUN_ID" ]; do sleep 0.2; done
  sleep 1
  echo done > "$RUNLEDGER_OUTPUT_DIR/result.txt"`,
  ],
  readable: [folder],
});

describe(`kill -9 during ${RUNS} runs`, () => {
  let views: StoredViews | string;
  let standalone: Standalone;
  let api: RunApi;
  let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  beforeAll(async () => {
    views = await viewsInMongo();
    folder = await mkdtempDisposable(join(tmpdir(), 'runledger-kill-'));
    // Programs of the executor may have another user.
    await chmod(folder.path, 0o755);
    standalone = await startStandalone({
      env: {
        ...(typeof views === 'string' ? {} : views.env),
        EXECUTOR_GPUS: 'A10G:8',
        EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': program(folder.path) }),
        RUNLEDGER_HEARTBEAT_PERIOD_S: String(PERIOD_S),
      },
    });
    api = runApi(standalone);
  }, 120_000);
  afterAll(async () => {
    await standalone.stop();
    await folder.remove();
    if (typeof views !== 'string') await views[Symbol.asyncDispose]();
  });

  const parts: Readonly<Record<string, (context: TestContext) => Promise<void>>> = {
    gateway: async () => kill9(standalone.pid, 'services/gateway/src/main.'),
    scheduler: async () => kill9(standalone.pid, 'services/scheduler/src/main.'),
    executor: async () => kill9(standalone.pid, 'services/gpu-executor/src/main.'),
    'nats-server': async () => kill9(standalone.pid, 'nats-server.conf'),
    MongoDB: (context) => (typeof views === 'string' ? context.skip(views) : views.kill9AndRestart()),
  };

  const queueSome = async (count: number): Promise<readonly string[]> =>
    Promise.all(Array.from({ length: count }, () => api.queue()));

  const letEnd = async (runs: readonly string[]): Promise<void> => {
    for (const run of runs) await writeFile(join(folder.path, run), '');
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

  /** Kills when all are queued, some run, and none has ended. */
  const expectSurvived = async (kill: () => Promise<void>): Promise<void> => {
    const runs = await queueSome(RUNS);
    try {
      const shown = await waitFor('some runs to run', async () => {
        const all = await Promise.all(runs.map((run) => api.get(run)));
        return all.some(({ status }) => status === 'running') && all;
      });
      expect(shown.filter(({ finished }) => finished)).toEqual([]);
      await kill();
    } finally {
      await letEnd(runs);
    }
    await expectAllToEndOnce(runs);
  };

  // webhook-kill.test.ts kills everything at once.
  const inGate = ['executor', 'nats-server'];
  it.for(someOf(Object.entries(parts), ([name]) => inGate.includes(name)))(
    'of %s: all end, none twice, and the views equal the log',
    { timeout: ALL_END_WITHIN_MS * 1.5 },
    ([, kill], context) => expectSurvived(() => kill(context)),
  );

  it(
    'of nats-server for three heartbeat periods starts no healthy run again',
    { timeout: ALL_END_WITHIN_MS },
    async () => {
      const runs = await queueSome(8);
      try {
        for (const run of runs) await api.reaches(run, 'running', 30_000);
        const [broker] = descendantsOf(standalone.pid, 'nats-server.conf');
        if (broker === undefined) throw new Error('no nats-server runs');
        process.kill(broker, 'SIGSTOP');
        // The only waits by the clock: the test is about the length of the outage, and what follows would come in two periods.
        await pause(PERIOD_S * 3 * 1_000);
        process.kill(broker, 'SIGCONT');
        await pause(PERIOD_S * 2 * 1_000);
      } finally {
        await letEnd(runs);
      }
      for (const run of runs) {
        const ended = await api.ended(run, 60_000);
        expect(ended).toMatchObject({ status: 'success', compute_function_call_id: `${run}.1` });
      }
    },
  );
});
