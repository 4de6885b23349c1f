import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseSlots } from '../../src/components/gpu-slots.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { allowList } from '../../src/components/services.ts';

describe('the GPU slots of a standalone', () => {
  it('are the given ones, and the sample runs on the first model', async () => {
    expect(await chooseSlots('T4:1, A100:2', 1)).toEqual({
      setting: { EXECUTOR_GPUS: 'T4:1, A100:2' },
      model: 'T4',
      simulated: false,
      description: 'T4:1, A100:2 (EXECUTOR_GPUS)',
    });
  });

  it('are those of each executor, and the banner says so', async () => {
    expect((await chooseSlots('CPU:4', 3)).description).toBe(
      'CPU:4 (EXECUTOR_GPUS), for each of 3 executors',
    );
  });

  it('are of any model, several on a card', async () => {
    expect(await chooseSlots('rtx4090:1x3', 1)).toMatchObject({ model: 'RTX4090', simulated: false });
  });

  it('are passed unchanged to the executor if they are invalid', async () => {
    expect(await chooseSlots('RTX 4090', 1)).toMatchObject({
      setting: { EXECUTOR_GPUS: 'RTX 4090' },
      model: 'A10G',
    });
  });
});

describe('the programs of a standalone', () => {
  const args = [expect.stringMatching(/\/sample\/render-image\.ts$/)];
  // Of the installation it sees what it imports.
  const readable = ['apps/standalone', 'node_modules', 'packages/contracts'].map((path) =>
    expect.stringMatching(new RegExp(`/${path}$`)),
  );
  const sample = { command: process.execPath, args, readable };

  it('are the sample and the given programs', () => {
    expect(JSON.parse(allowList(undefined, {}))).toEqual({ 'render-image': sample });
    expect(JSON.parse(allowList('{"mine": ["/bin/true"]}', {}))).toEqual({
      'render-image': sample,
      mine: ['/bin/true'],
    });
  });

  // What it could write there would be loaded by the services.
  it('get nothing of the environment, and no cache of compiled code', () => {
    const env = { NODE_COMPILE_CACHE: '/cache', RUNLEDGER_API_KEY: 'k' };
    expect(JSON.parse(allowList(undefined, env))).toEqual({ 'render-image': sample });
  });

  it('are the bundle of the sample where there is one, which sees nothing else of the installation', () => {
    const bundle = join(temporaryFolder(), 'apps/standalone/src/sample/render-image.mjs');
    mkdirSync(dirname(bundle), { recursive: true });
    writeFileSync(bundle, '');
    const env = { RUNLEDGER_BUNDLES: join(bundle, '../../../../..') };
    expect(JSON.parse(allowList(undefined, env))).toEqual({
      'render-image': { command: process.execPath, args: [bundle], readable: [bundle] },
    });
  });

  it.each(['[1]', '{"mine":', 'null'])('are passed unchanged to the executor if they are %s', (text) => {
    expect(allowList(text, {})).toBe(text);
  });
});
