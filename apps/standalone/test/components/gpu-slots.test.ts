import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { chooseSlots } from '../../src/components/gpu-slots.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { allowList } from '../../src/components/allow-list.ts';

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

describe('a card that nvidia-smi shows', () => {
  const path = process.env['PATH'];
  afterEach(() => {
    process.env['PATH'] = path;
  });
  const nvidiaSmi = (...lines: readonly string[]): void => {
    const tools = temporaryFolder();
    writeFileSync(
      join(tools, 'nvidia-smi'),
      `#!/bin/sh\n${lines.map((line) => `echo '${line}'\n`).join('')}`,
    );
    chmodSync(join(tools, 'nvidia-smi'), 0o700);
    process.env['PATH'] = `${tools}:${path}`;
  };

  it('is named if it cannot be used, with what to set', async () => {
    nvidiaSmi('0, GPU-1, [N/A], 23028 MiB');
    expect(await chooseSlots(undefined, 1)).toEqual({
      setting: { EXECUTOR_GPUS: 'A10G:2' },
      model: 'A10G',
      simulated: true,
      description:
        'A10G:2, simulated: nvidia-smi gives no usable name for card 0 ("[N/A]"). ' +
        'To use it, name the models of all cards, such as EXECUTOR_GPUS=MYGPU:1 npm start',
    });
  });

  it('is named beside the others that are used', async () => {
    nvidiaSmi('0, GPU-1, NVIDIA A10G, 23028 MiB', '1, GPU-2, [Unknown Error], 1 MiB', 'no card at all');
    expect(await chooseSlots(undefined, 1)).toMatchObject({
      setting: {},
      model: 'A10G',
      description:
        'A10G:1 (nvidia-smi); not used: nvidia-smi gives no usable name for card 1 ("[Unknown Error]"), "no card at all". ' +
        'To use them, name the models of all cards, such as EXECUTOR_GPUS=MYGPU:3 npm start',
    });
  });

  it('is used under the name of its product if no list has it', async () => {
    nvidiaSmi('0, GPU-1, NVIDIA GeForce RTX 6090, 49152 MiB');
    expect(await chooseSlots(undefined, 1)).toMatchObject({ description: 'RTX6090:1 (nvidia-smi)' });
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
