import { freePort } from '@runledger/local-servers/free-port';
import { cogCommand, type CogCommand } from '@runledger/testing/servers/cog';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PREDICTIONS_FOLDER } from '../../../../src/runners/cog/cog-server.ts';
import { closedFolderAbove } from '../../../../src/view/real-paths.ts';
import { isInNamespace, type Isolation } from '../../../../src/isolation/isolation.ts';
import { openOnce } from '../../../fixtures/at-the-end.ts';
import { isolations } from '../../../fixtures/isolations.ts';
import { openCog, type CogOptions } from '../../../runners/cog/run-cog.ts';
import type { ConfiguredRuns } from '../../../runners/run-configured.ts';

let real: CogCommand;
beforeAll(async () => {
  real = await cogCommand(join(import.meta.dirname, 'predict.py'));
}, 600_000);
afterAll(() => real[Symbol.dispose]());

const open = async (env: object = {}, options: Pick<CogOptions, 'graceMs' | 'slots' | 'isolation'> = {}) => {
  const own = { ...real.entry, env: { ...real.entry.env, ...env } };
  return openCog({
    models: { painter: { ...own, url: `http://127.0.0.1:${await freePort()}` } },
    startTimeoutS: 120,
    ...options,
  });
};

const doing = (what: string): object => ({ input: { what } });

const until = (condition: () => boolean): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 60_000, interval: 20 });

const succeeds = async (cog: ConfiguredRuns): Promise<void> =>
  expect(await cog.start(doing('text')).result).toMatchObject({
    outcome: 'succeeded',
    data: { text: ['python 3'] },
  });

const skipIfClosed = (isolation: Isolation, skip: (why: string) => void): void => {
  const closed = closedFolderAbove(real.entry.command);
  if (closed !== null && isolation.users.kind !== 'executor' && !isInNamespace(isolation))
    skip(`${closed}, in which Python is, is closed to programs`);
};

describe('a real Cog server that runs for many predictions', () => {
  const cog = openOnce(() => open());

  it('is started once, and executes runs with progress, logs and outputs', async () => {
    const run = cog().start(doing('steps'));
    expect(await run.result).toMatchObject({ outcome: 'succeeded', data: { text: ['done'] } });
    expect(run.begun[0]).toBeGreaterThan(0);
    const reported = run.reports.map(({ progress }) => progress);
    expect(reported).toEqual(expect.arrayContaining([0.25, 0.5, 0.75, 1]));
    const lines = run.lines.map(({ line }) => line);
    expect(lines).toEqual(expect.arrayContaining(['step 1/4', 'step 4/4']));
    // What the server wrote while it loaded, without what the executor alone reads.
    expect(lines).toContain('Setup complete, now accepting requests');
    expect(lines.filter((line) => /Worker ready|Registered prediction/.test(line))).toEqual([]);

    const warm = cog().start(doing('object'));
    expect(await warm.result).toMatchObject({ data: { caption: ['a cat'], seed: ['7'] } });
    expect(warm.begun).toEqual([0]);
  });

  it('gets an input file of some megabytes, and gives a file', async () => {
    const content = 'picture '.repeat(1_000_000);
    const run = cog().start(doing('copy'), {
      inputs: { picture: 'picture.png' },
      inputFiles: { 'picture.png': content },
      fileInputs: ['picture'],
    });
    expect(await run.result).toMatchObject({ files: [{ filename: 'copy.png', bytes: content.length }] });
    expect(readFileSync(join(run.outputDir, 'copy.png'), 'utf8') === content).toBe(true);
  });

  it('gets files under their own names, and lists of them in their order', async () => {
    const run = cog().start(doing('names'), {
      inputs: {
        picture: 'voice.npz',
        many: ['many/b c.jsonl', 'many/lora.safetensors', 'many/größe.tar.gz'],
      },
      inputFiles: {
        'voice.npz': 'x',
        'many/b c.jsonl': 'b',
        'many/lora.safetensors': 'l',
        'many/größe.tar.gz': 't',
      },
      fileInputs: ['picture', 'many'],
    });
    expect(await run.result).toMatchObject({
      outcome: 'succeeded',
      data: {
        names: [
          expect.stringMatching(/voice\.npz$/),
          expect.stringMatching(/b c\.jsonl$/),
          expect.stringMatching(/lora\.safetensors$/),
          expect.stringMatching(/größe\.tar\.gz$/),
        ],
        texts: ['b', 'l', 't'],
      },
    });
  });

  it('gives files under the names that the model gave them, in the order of its output', async () => {
    const one = cog().start(doing('file'));
    expect(await one.result).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: 'lora.safetensors', subfolder: '' }],
    });
    const many = cog().start(doing('files'));
    const names = ['z.npz', 'größe #1.tar.gz', 'out.bin', 'a.jsonl', 'out-2.bin', 'b'];
    expect(await many.result).toMatchObject({
      outcome: 'succeeded',
      data: {},
      files: names.map((filename) => ({ filename })),
    });
    expect(readFileSync(join(many.outputDir, 'größe #1.tar.gz'), 'utf8')).toBe('größe #1.tar.gz');
  });

  it('fails when the model returns a file that is not there, which the server leaves out', async () => {
    expect(await cog().start(doing('missing file')).result).toMatchObject({
      outcome: 'failed',
      error: { kind: 'invalid_output', message: expect.stringContaining('the file /no/such/b.npz') },
    });
    await succeeds(cog());
  });

  it('has the output of child processes and of libraries in C in the log of the run', async () => {
    const run = cog().start(doing('children'));
    expect(await run.result).toMatchObject({ outcome: 'succeeded', data: { text: ['done'] } });
    expect(run.lines.map(({ line }) => line).toSorted()).toEqual([
      'child err',
      'child out',
      'from C',
      'from Python',
    ]);
  });

  it('says why a prediction failed, and executes the next one', async () => {
    expect(await cog().start(doing('raise')).result).toMatchObject({
      error: { kind: 'execution_error', message: 'ValueError: no such style' },
    });
    await succeeds(cog());
  });

  it('heeds a cancel', async () => {
    const run = cog().start({ input: { what: 'steps', steps: 1_000 } });
    await until(() => run.reports.some(({ progress }) => progress > 0));
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: false });
    await succeeds(cog());
  });
});

describe.for(isolations)('a real Cog server, %s,', ([, isolation]) => {
  it('gives files in an object under the names that the model gave them, and leaves nothing behind', async ({
    skip,
  }) => {
    skipIfClosed(isolation, skip);
    const cog = await open({}, { isolation });
    const run = cog.start(doing('file in object'));
    expect(await run.result).toMatchObject({
      outcome: 'succeeded',
      data: { caption: ['a cat'] },
      // Cog sorts the members of an object.
      files: [
        // Python made its name up, and says its type.
        { filename: 'adapter.safetensors', subfolder: '' },
        { filename: 'picture.png', subfolder: '' },
        { filename: 'left.npz', subfolder: 'masks' },
        { filename: 'lora.safetensors', subfolder: '' },
      ],
    });
    expect(readFileSync(join(run.outputDir, 'lora.safetensors'), 'utf8')).toBe('lora.safetensors');
    expect(existsSync(join(PREDICTIONS_FOLDER, `${run.run_id}-1`))).toBe(false);
  });
});

describe('a real Cog server', () => {
  it('gives the files of an iterator under their names', async () => {
    using frames = await cogCommand(join(import.meta.dirname, 'frames.py'));
    const url = `http://127.0.0.1:${await freePort()}`;
    const cog = await openCog({ models: { film: { ...frames.entry, url } }, startTimeoutS: 120 });
    const run = cog.start({ input: { count: 12 } });
    const names = Array.from({ length: 12 }, (_, number) => `frame-${number}.npz`);
    expect(await run.result).toMatchObject({
      outcome: 'succeeded',
      files: names.map((filename) => ({ filename })),
    });
    expect(readFileSync(join(run.outputDir, 'frame-11.npz'), 'utf8')).toBe('11');
  });

  it('gives one text in pieces, which is one text', async () => {
    using streaming = await cogCommand(join(import.meta.dirname, 'stream.py'));
    const url = `http://127.0.0.1:${await freePort()}`;
    const cog = await openCog({ models: { writer: { ...streaming.entry, url } }, startTimeoutS: 120 });
    const count = 10_000;
    expect(await cog.start({ input: { count } }).result).toMatchObject({
      outcome: 'succeeded',
      data: { text: [Array.from({ length: count }, (_, number) => `w${number} `).join('')] },
    });
  });

  it('has a server for each slot', async () => {
    const cog = await open({}, { slots: 2 });
    const runs = [0, 1].map((slot) => cog.start(doing('steps'), { slot }));
    for (const { result } of runs) expect(await result).toMatchObject({ outcome: 'succeeded' });
  });

  it('is started again when its worker crashed', async () => {
    const cog = await open();
    expect(await cog.start(doing('crash')).result).toMatchObject({ error: { kind: 'crashed' } });
    await succeeds(cog);
  });

  it('is killed when a prediction does not heed a cancel, and started again', async () => {
    const cog = await open({}, { graceMs: 1_000 });
    const run = cog.start(doing('deaf'));
    await until(() => run.reports.some(({ progress }) => progress > 0));
    run.cancel();
    expect(await run.result).toMatchObject({ outcome: 'cancelled', forced: true });
    await succeeds(cog);
  });

  it('says why its setup failed', async () => {
    const cog = await open({ SETUP: 'fails' });
    expect(await cog.start(doing('text')).result).toMatchObject({
      error: { kind: 'setup_failed', message: expect.stringContaining('no weights at /weights') },
    });
  });
});
