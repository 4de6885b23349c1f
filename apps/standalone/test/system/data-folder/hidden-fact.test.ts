import { openSync, readFileSync, readdirSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';

let standalone: Standalone;
beforeAll(async () => {
  standalone = await startStandalone({
    env: {
      EXECUTOR_GPUS: 'A10G:1',
      EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': { command: '/bin/true', args: [] } }),
    },
  });
}, 120_000);
afterAll(() => standalone[Symbol.asyncDispose]());

/** In the last fact that names the run. nats-server reads the file again when it has forgotten what it wrote, with the index that it has. */
const flipBitOfLast = (run: string): void => {
  const path = readdirSync(standalone.dataFolder, { recursive: true, encoding: 'utf8' }).find((name) =>
    /\/RUNS\/msgs\/\d+\.blk$/.test(name),
  );
  const file = join(standalone.dataFolder, path ?? '');
  const bytes = readFileSync(file);
  const at = bytes.lastIndexOf(`"run_id":"${run}"`);
  if (at < 0) throw new Error(`${file} does not name the run ${run}`);
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.of(bytes.readUInt8(at + 4) ^ 4), 0, 1, at + 4);
  closeSync(opened);
};

it(
  'a fact that is damaged behind a whole index is found, and not taken for one that has expired',
  { timeout: 120_000 },
  async () => {
    const api = runApi(standalone);
    const run = await api.queue();
    expect(await api.ended(run, 60_000)).toMatchObject({ status: 'success' });
    flipBitOfLast(run);
    const history = await waitFor('the damage', async () => {
      const { stdout } = await runCli(['history', run], standalone.dataFolder);
      return !stdout.includes('RunSucceeded') && stdout;
    });
    expect(history).toContain('a file of its store is damaged');
    await expect(runCli(['verify', '--run', run], standalone.dataFolder)).rejects.toThrow(
      '1 run with 0 messages verified: 1 difference',
    );
  },
);
