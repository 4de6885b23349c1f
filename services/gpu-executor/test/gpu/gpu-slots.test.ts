import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GPU_MODELS } from '@runledger/contracts/gpu';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { slotsFromGpus, slotsFromSetting } from '../../src/gpu/gpu-slots.ts';
import { gpuModelOf } from '../../src/gpu/gpu-models.ts';
import { detectGpus, parseGpuQuery } from '../../src/gpu/nvidia-smi.ts';

describe('EXECUTOR_GPUS', () => {
  it('lists models with their counts; devices are counted from 0', () => {
    expect(slotsFromSetting('A10G:2, T4')).toEqual({
      ok: true,
      slots: [
        { index: 0, gpu: 'A10G', device: '0' },
        { index: 1, gpu: 'A10G', device: '1' },
        { index: 2, gpu: 'T4', device: '2' },
      ],
    });
  });

  it('uses only the devices in CUDA_VISIBLE_DEVICES', () => {
    expect(slotsFromSetting('A10G:2', '4,GPU-6d40')).toMatchObject({
      slots: [{ device: '4' }, { device: 'GPU-6d40' }],
    });
    expect(slotsFromSetting('A10G:2', '4')).toMatchObject({
      ok: false,
      problem: { wrong: expect.stringContaining('only 1') },
    });
  });

  it.each([
    ['', 'has the entry'],
    ['A10G:2,', 'has the entry'],
    ['A10G:2:3', 'has the entry'],
    ['RTX4090:1', 'does not know'],
    ['a10g:1', 'does not know'],
    ['A10G:0', 'counts'],
    ['A10G:-1', 'counts'],
    ['A10G:1.5', 'counts'],
    ['A10G:900', 'more than 256'],
    ['__proto__:1', 'does not know'],
  ])('refuses "%s", with the reason and the expected format', (setting, wrong) => {
    expect(slotsFromSetting(setting)).toEqual({
      ok: false,
      problem: {
        variable: 'EXECUTOR_GPUS',
        wrong: expect.stringContaining(wrong),
        right: expect.stringContaining('A10G:2,T4:1'),
      },
    });
  });

  it('gives each model its count of slots, numbered without gaps', () => {
    const entry = fc.record({ gpu: fc.constantFrom(...GPU_MODELS), count: fc.integer({ min: 1, max: 30 }) });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 8 }), (entries) => {
        const read = slotsFromSetting(entries.map(({ gpu, count }) => `${gpu}:${count}`).join(','));
        const models = entries.flatMap(({ gpu, count }) => Array.from({ length: count }, () => gpu));
        expect(read).toEqual({
          ok: true,
          slots: models.map((gpu, index) => ({ index, gpu, device: String(index) })),
        });
      }),
    );
  });

  it('gives slots or a problem for any text, and throws nothing', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = slotsFromSetting(text);
        expect(read.ok ? read.slots.length : read.problem.wrong.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('a card', () => {
  it.each([
    ['Tesla T4', 15_360, 'T4'],
    ['NVIDIA L4', 23_034, 'L4'],
    ['NVIDIA A10G', 23_028, 'A10G'],
    ['NVIDIA A10', 23_028, 'A10G'],
    ['NVIDIA L40S', 46_068, 'L40S'],
    ['NVIDIA A100-SXM4-40GB', 40_960, 'A100'],
    ['NVIDIA A100-PCIE-40GB', 40_960, 'A100'],
    ['A100-SXM4-40GB', 40_960, 'A100'],
    ['NVIDIA A100-SXM4-80GB', 81_920, 'A100-80GB'],
    ['NVIDIA A100 80GB PCIe', 81_920, 'A100-80GB'],
    ['NVIDIA A100-SXM', 81_251, 'A100-80GB'],
    ['NVIDIA H100 80GB HBM3', 81_559, 'H100'],
    ['NVIDIA H100 PCIe', 81_559, 'H100'],
    ['NVIDIA H100 NVL', 95_830, 'H100'],
  ])('%s with %i MiB has the model %s', (name, memory, model) => {
    expect(gpuModelOf(name, memory)).toBe(model);
  });

  it.each([
    'NVIDIA L40',
    'NVIDIA T400',
    'NVIDIA H200',
    'NVIDIA GH200 480GB',
    'GRID A100-10C',
    'NVIDIA GeForce RTX 4090',
    '',
  ])('%s has no model of the API', (name) => expect(gpuModelOf(name, 48_000)).toBeNull());
});

describe('the output of nvidia-smi', () => {
  const output = `0, GPU-6d40aaaa-0000-0000-0000-000000000001, NVIDIA A10G, 23028 MiB
1, GPU-6d40bbbb-0000-0000-0000-000000000002, NVIDIA GeForce RTX 4090, 24564 MiB
2, GPU-6d40cccc-0000-0000-0000-000000000003, NVIDIA A100-SXM4-80GB, [N/A]
Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error
`;

  it('becomes slots on the known cards, addressed by UUID', () => {
    const { gpus, unreadable } = parseGpuQuery(output);
    expect(unreadable).toEqual(['Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error']);
    expect(slotsFromGpus(gpus)).toEqual({
      slots: [
        { index: 0, gpu: 'A10G', device: 'GPU-6d40aaaa-0000-0000-0000-000000000001' },
        { index: 1, gpu: 'A100-80GB', device: 'GPU-6d40cccc-0000-0000-0000-000000000003' },
      ],
      unknown: [expect.objectContaining({ index: 1, name: 'NVIDIA GeForce RTX 4090' })],
    });
  });

  it('is limited to the devices in CUDA_VISIBLE_DEVICES, in their order', () => {
    const { gpus } = parseGpuQuery(output);
    expect(slotsFromGpus(gpus, '2,GPU-6d40aaaa').slots.map(({ gpu }) => gpu)).toEqual(['A100-80GB', 'A10G']);
    expect(slotsFromGpus(gpus, '').slots).toEqual([]);
  });

  it('parses without an exception, however malformed', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { gpus, unreadable } = parseGpuQuery(text);
        expect(gpus.length + unreadable.length).toBeLessThanOrEqual(text.split('\n').length);
      }),
    );
  });
});

describe('the search for cards', () => {
  it('says why there are none', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gpu-slots-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    vi.stubEnv('PATH', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const install = (script: string): Promise<void> =>
      writeFile(join(folder, 'nvidia-smi'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

    expect(await detectGpus()).toEqual({ kind: 'none', why: 'there is no nvidia-smi on PATH' });
    await install('exit 1');
    expect(await detectGpus()).toMatchObject({ kind: 'none', why: expect.stringContaining('failed') });
    await install('exit 0');
    expect(await detectGpus()).toEqual({ kind: 'found', gpus: [], unreadable: [] });
  });
});
