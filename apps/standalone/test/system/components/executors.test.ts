import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descendantsOf, isAlive } from '../../fixtures/processes.ts';
import { runApi } from '../../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';

const Attempts = Type.Object({ attempts: Type.Array(Type.Object({ executor: Type.String() })) });

/** Queues two runs that take long, and gives the names of those that execute them. */
const executorsAtWork = async (standalone: Standalone): Promise<Set<string>> => {
  const api = runApi(standalone);
  const runs = await Promise.all([1, 2].map(() => api.queue({ size: 16, seconds: 60 })));
  const running = await Promise.all(runs.map((run) => api.reaches(run, 'running', 30_000)));
  const names = running.flatMap((run) => Value.Parse(Attempts, run).attempts.map(({ executor }) => executor));
  await Promise.all(runs.map((run) => api.cancel(run)));
  return new Set(names);
};

describe('a standalone with two executors', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    const env = { RUNLEDGER_EXECUTORS: '2', EXECUTOR_NAME: 'box', EXECUTOR_GPUS: 'CPU:1' };
    standalone = await startStandalone({ env });
  }, 120_000);
  afterAll(() => standalone.stop());

  it('runs two at once in one slot of each', async () => {
    expect(standalone.output()).toContain('CPU:1 (EXECUTOR_GPUS), for each of 2 executors');
    expect(await executorsAtWork(standalone)).toEqual(new Set(['box', 'box-2']));
  });

  it('gives each its own key for the broker', () => {
    const keys = descendantsOf(standalone.pid, 'services/gpu-executor/src/main.').map(
      (pid) => /NATS_NKEY_FILE=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1],
    );
    const keyOf = (name: string): string => join(standalone.dataFolder, 'keys', `executor-${name}.nk`);
    expect(new Set(keys)).toEqual(new Set([keyOf('box'), keyOf('box-2')]));
  });

  it('stops both', async () => {
    const executors = descendantsOf(standalone.pid, 'services/gpu-executor/src/main.');
    standalone.signal('SIGTERM');
    expect(await standalone.ended()).toBe(0);
    expect(executors.filter(isAlive)).toEqual([]);
  });
});
