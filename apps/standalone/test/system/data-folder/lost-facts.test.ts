import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kill9 } from '../../fixtures/processes.ts';
import { runApi, type RunApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';

const RUNS = 3;
/** Of a run without files: queued, assigned, started, ended. */
const FACTS = 4;
const LOST = /RUNS (\d+)-(\d+), stored after/;

let standalone: Standalone;
let api: RunApi;
beforeAll(async () => {
  standalone = await startStandalone({
    env: {
      EXECUTOR_GPUS: 'A10G:1',
      EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': { command: '/bin/true', args: [] } }),
    },
  });
  api = runApi(standalone);
}, 120_000);
afterAll(() => standalone[Symbol.asyncDispose]());

/** The files in which nats-server keeps a stream. */
const blocksOf = (stream: string): string[] =>
  readdirSync(standalone.dataFolder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.blk') && path.includes(`/${stream}/`))
    .map((path) => join(standalone.dataFolder, path));

const flipBitOf = (stream: string): void => {
  const [file = ''] = blocksOf(stream);
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 4, middle);
  writeFileSync(file, bytes);
};

it(
  'a start on a damaged log says whose facts are lost, and waits until it may go on without them',
  { timeout: 180_000 },
  async () => {
    const runs: string[] = [];
    for (let n = 0; n < RUNS; n += 1) {
      const run = await api.queue();
      expect(await api.ended(run, 60_000)).toMatchObject({ status: 'success' });
      runs.push(run);
    }
    const isNoted = (): boolean =>
      blocksOf('KV_LEASES').some((file) =>
        readFileSync(file, 'latin1').includes(`"sequence":${RUNS * FACTS},`),
      );
    await waitFor('the end of the log to be noted', isNoted);
    kill9(standalone.pid, 'nats-server.conf');
    await standalone.kill9();
    flipBitOf('RUNS');

    const ready = standalone.restart();
    const told = await waitFor(
      'the loss',
      () => standalone.output().includes('the last fact is lost of') && standalone.output(),
    );
    const [, first, last] = LOST.exec(told) ?? [];
    expect({ first: Number(first), last: Number(last) }).toEqual({
      first: expect.any(Number),
      last: RUNS * FACTS,
    });
    const lostRuns = runs.filter((_, n) => (n + 1) * FACTS >= Number(first));
    expect(lostRuns.length).toBeGreaterThan(0);
    for (const run of runs) expect(told.includes(`run ${run} of organisation `)).toBe(lostRuns.includes(run));
    expect(told).toMatch(/, shown as success: its last fact is lost/);
    expect(told).not.toContain('Starting gateway');

    await runCli(['provision', '--accept-loss', `${first}-${last}`], standalone.dataFolder);
    await ready;
    const [whole = ''] = runs;
    expect(await api.get(whole)).toMatchObject({ status: 'success' });
    const gone = runs.at(-1) ?? '';
    const { stdout } = await runCli(['history', gone], standalone.dataFolder);
    expect(stdout).toMatch(new RegExp(`were lost with it \\(RUNS ${first}-${last}, accepted at `));
    expect(await api.ended(await api.queue(), 60_000)).toMatchObject({ status: 'success' });
  },
);
