import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descendants, isAlive, type Process } from '../fixtures/processes.ts';
import { runApi } from '../fixtures/run-api.ts';
import { spawnStandalone, startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const STARTER = fileURLToPath(new URL('../fixtures/standalone-starter.ts', import.meta.url));

/** Says which are alive, if some are. */
const expectAllEnded = (started: readonly Process[]): Promise<void> =>
  expect
    .poll(() => started.filter(({ pid }) => isAlive(pid)), { timeout: 50_000, interval: 100 })
    .toEqual([]);

const warningsIn = (output: string): string[] =>
  output.split('\n').filter((line) => /warns:|reports an error:/.test(line));

describe('a standalone', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    standalone = await startStandalone();
  }, 120_000);
  afterAll(() => standalone.stop());

  /** One more than there are slots. */
  const queueThree = async (): Promise<readonly string[]> => {
    const runs: string[] = [];
    for (let n = 0; n < 3; n += 1) runs.push(await runApi(standalone).queue({ size: 16, seconds: 2 }));
    return runs;
  };

  it('ends all processes in order after Ctrl-C, which npm passes on twice, and keeps runs and key', async () => {
    const run = await runApi(standalone).queue({ size: 16, seconds: 0 });
    const ended = await runApi(standalone).ended(run, 30_000);
    const { api_key, webhook_secret } = standalone;
    const waiting = await queueThree();
    const started = descendants(standalone.pid);
    expect(started.length).toBeGreaterThan(4);

    standalone.signal('SIGINT');
    standalone.signal('SIGINT');
    expect(await standalone.ended()).toBe(0);
    expect(standalone.output()).toMatch(/Stopping\.\nStopped\.\n$/);
    await waitFor('its processes to end', () => started.every(({ pid }) => !isAlive(pid)));
    expect(existsSync(join(standalone.dataFolder, 'connection.json'))).toBe(false);
    expect(existsSync(join(standalone.dataFolder, 'holder.json'))).toBe(false);

    await standalone.restart();
    expect(standalone.api_key).toBe(api_key);
    expect(standalone.webhook_secret).toBe(webhook_secret);
    expect(await runApi(standalone).get(run)).toMatchObject({ status: 'success', ended_at: ended.ended_at });
    for (const one of waiting) await runApi(standalone).ended(one, 60_000);
    expect(warningsIn(standalone.output())).toEqual([]);
  });

  it.each(['Starting nats-server', 'Starting gateway'])(
    'ends all processes in order after Ctrl-C during "%s"',
    async (step) => {
      const started = spawnStandalone(temporaryFolder(), {});
      await waitFor('the step', () => started.output().includes(step));
      const processes = descendants(started.pid);
      started.signal('SIGINT');
      expect(await started.ended).toBe(0);
      expect(processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
      expect(started.output()).toMatch(/Stopping\.\nStopped\.\n$/);
    },
  );

  it('can start at once after kill -9, on the same port and data, and warns of nothing', async () => {
    const run = await runApi(standalone).queue({ size: 16, seconds: 0 });
    await runApi(standalone).ended(run, 30_000);
    const [first = '', ...others] = await queueThree();
    await runApi(standalone).reaches(first, 'running', 30_000);
    const started = descendants(standalone.pid);
    const { url } = standalone;
    await standalone.kill9();
    await standalone.restart();
    expect(standalone.url).toBe(url);
    expect(started.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(await runApi(standalone).get(run)).toMatchObject({ status: 'success' });
    // Its first attempt is lost with the executor, which has started again.
    expect(await runApi(standalone).ended(first, 60_000)).toMatchObject({
      status: 'success',
      compute_function_call_id: `${first}.2`,
    });
    for (const one of others) await runApi(standalone).ended(one, 60_000);
    expect(warningsIn(standalone.output())).toEqual([]);
  });

  it('leaves no process after kill -9', async () => {
    const started = descendants(standalone.pid);
    await standalone.kill9();
    await expectAllEnded(started);
  });
});

describe('a test run', () => {
  it('leaves no process of its standalone after kill -9', { timeout: 180_000 }, async () => {
    const starter = spawn(process.execPath, [STARTER, temporaryFolder()], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    killWithParent(starter);
    const [pid] = await once(starter.stdout, 'data');
    const started = descendants(Number(pid));
    expect(started.length).toBeGreaterThan(4);
    starter.kill('SIGKILL');
    await expectAllEnded(started);
  });
});
