import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GpuModel } from '@runledger/contracts/gpu';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { slotsFromGpus, slotsFromSetting } from '../src/gpu-slots.ts';
import { gpuModelOf, detectGpus, parseGpuQuery } from '../src/nvidia-smi.ts';

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

  it('takes any model, in either case', () => {
    expect(slotsFromSetting('rtx4090:1, H200, My_own.Card-2')).toMatchObject({
      slots: [{ gpu: 'RTX4090' }, { gpu: 'H200' }, { gpu: 'MY_OWN.CARD-2' }],
    });
  });

  it('puts several slots on each card', () => {
    expect(slotsFromSetting('RTX4090:1x3,T4:2X2')).toEqual({
      ok: true,
      slots: [
        { index: 0, gpu: 'RTX4090', device: '0' },
        { index: 1, gpu: 'RTX4090', device: '0' },
        { index: 2, gpu: 'RTX4090', device: '0' },
        { index: 3, gpu: 'T4', device: '1' },
        { index: 4, gpu: 'T4', device: '1' },
        { index: 5, gpu: 'T4', device: '2' },
        { index: 6, gpu: 'T4', device: '2' },
      ],
    });
    expect(slotsFromSetting('RTX4090:1x3', 'GPU-6d40')).toMatchObject({
      slots: [{ device: 'GPU-6d40' }, { device: 'GPU-6d40' }, { device: 'GPU-6d40' }],
    });
  });

  it('gives CPU slots no card: their runs see none, and cards are counted without them', () => {
    expect(slotsFromSetting('CPU:2,A10G:1')).toEqual({
      ok: true,
      slots: [
        { index: 0, gpu: 'CPU', device: '' },
        { index: 1, gpu: 'CPU', device: '' },
        { index: 2, gpu: 'A10G', device: '0' },
      ],
    });
    expect(slotsFromSetting('cpu:1x4', '')).toMatchObject({ ok: true, slots: { length: 4 } });
  });

  it('uses only the devices in CUDA_VISIBLE_DEVICES', () => {
    expect(slotsFromSetting('A10G:2', '4,GPU-6d40')).toMatchObject({
      slots: [{ device: '4' }, { device: 'GPU-6d40' }],
    });
    expect(slotsFromSetting('A10G:2', '4')).toMatchObject({
      ok: false,
      problem: { wrong: 'has more cards (2) than CUDA_VISIBLE_DEVICES has devices (1)' },
    });
  });

  it.each([
    ['', 'has the entry'],
    ['A10G:2,', 'has the entry'],
    ['A10G:2:3', 'has the entry'],
    ['RTX 4090:1', 'has the model "RTX 4090"'],
    ['-A10G:1', 'has the model'],
    ['A*:1', 'has the model'],
    [`${'A'.repeat(41)}:1`, 'has the model'],
    ['A10G:0', 'counts'],
    ['A10G:-1', 'counts'],
    ['A10G:1.5', 'counts'],
    ['A10G:1x', 'counts "1x" of A10G'],
    ['A10G:1x0', 'counts'],
    ['A10G:x3', 'counts'],
    ['A10G:1x2x3', 'counts'],
    ['A10G:900', 'names 900 slots'],
    ['A10G:200,T4:1x57', 'names 257 slots'],
    ['__proto__:1', 'has the model'],
  ])('refuses "%s", with the reason and the expected format', (setting, wrong) => {
    expect(slotsFromSetting(setting)).toEqual({
      ok: false,
      problem: {
        variable: 'EXECUTOR_GPUS',
        wrong: expect.stringContaining(wrong),
        right: expect.stringMatching(/A10G:2,T4:1.*RTX4090:1x3.*CPU/),
      },
    });
  });

  it('gives each card its slots, numbered without gaps, and no card to two models', () => {
    const models: GpuModel[] = ['A10G', 'RTX4090', 'H200', 'CPU'];
    const entry = fc.record({
      gpu: fc.constantFrom(...models),
      cards: fc.integer({ min: 1, max: 5 }),
      slots: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 8 }), (entries) => {
        const written = entries.map(({ gpu, cards, slots }) => `${gpu}:${cards}x${slots}`).join(',');
        const read = slotsFromSetting(written);
        if (!read.ok) throw new Error(read.problem.wrong);
        expect(read.slots.map(({ index }) => index)).toEqual(read.slots.map((_, index) => index));
        expect(read.slots.map(({ gpu }) => gpu)).toEqual(
          entries.flatMap(({ gpu, cards, slots }) => Array.from({ length: cards * slots }, () => gpu)),
        );
        const used = Map.groupBy(
          read.slots.filter(({ gpu }) => gpu !== 'CPU'),
          ({ device }) => Number(device),
        );
        const slotsOfCards = entries
          .filter(({ gpu }) => gpu !== 'CPU')
          .flatMap(({ gpu, cards, slots }) => Array.from({ length: cards }, () => Array(slots).fill(gpu)));
        expect([...used].map(([card, slots]) => [card, slots.map(({ gpu }) => gpu)])).toEqual([
          ...slotsOfCards.entries(),
        ]);
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
    ['NVIDIA H200', 143_771, 'H200'],
    ['NVIDIA L40', 46_068, 'L40'],
    ['NVIDIA T400 4GB', 4_096, 'T400-4GB'],
    ['NVIDIA GH200 480GB', 97_871, 'GH200-480GB'],
    ['GRID A100-10C', 10_240, 'GRID-A100-10C'],
    ['Tesla V100-SXM2-16GB', 16_384, 'V100-SXM2-16GB'],
    ['NVIDIA GeForce RTX 4090', 24_564, 'RTX4090'],
    ['NVIDIA GeForce RTX 4090 Laptop GPU', 16_376, 'RTX4090-LAPTOP'],
    ['NVIDIA GeForce RTX 4070 Ti SUPER', 16_376, 'RTX4070-TI-SUPER'],
    ['GeForce GTX 1080 Ti', 11_178, 'GTX1080-TI'],
    ['NVIDIA RTX 6000 Ada Generation', 49_140, 'RTX6000-ADA'],
    ['Quadro RTX 6000', 24_576, 'QUADRO-RTX6000'],
    ['NVIDIA RTX A6000', 49_140, 'RTX-A6000'],
    ['NVIDIA TITAN X (Pascal)', 12_288, 'TITAN-X-PASCAL'],
    [
      'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition',
      97_887,
      'RTX-PRO-6000-BLACKWELL-MAX-Q-WORKSTATION',
    ],
  ])('%s with %i MiB has the model %s', (name, memory, model) => {
    expect(gpuModelOf(name, memory)).toBe(model);
  });

  it.each(['', '[N/A]', '[Unknown Error]', 'NVIDIA GeForce', '显卡'])('"%s" gives no model', (name) => {
    expect(gpuModelOf(name, 48_000)).toBeNull();
  });

  it('has a model that EXECUTOR_GPUS takes, or none, whatever its name is', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const model = gpuModelOf(name, 0);
        expect(model === null || slotsFromSetting(model).ok).toBe(true);
      }),
    );
  });
});

describe('the output of nvidia-smi', () => {
  const output = `0, GPU-6d40aaaa-0000-0000-0000-000000000001, NVIDIA A10G, 23028 MiB
1, GPU-6d40bbbb-0000-0000-0000-000000000002, NVIDIA GeForce RTX 4090, 24564 MiB
2, GPU-6d40cccc-0000-0000-0000-000000000003, NVIDIA A100-SXM4-80GB, [N/A]
3, GPU-6d40dddd-0000-0000-0000-000000000004, [N/A], [N/A]
Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error
`;

  it('becomes slots on the cards with a name, addressed by UUID', () => {
    const { gpus, unreadable } = parseGpuQuery(output);
    expect(unreadable).toEqual(['Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error']);
    expect(slotsFromGpus(gpus)).toEqual({
      slots: [
        { index: 0, gpu: 'A10G', device: 'GPU-6d40aaaa-0000-0000-0000-000000000001' },
        { index: 1, gpu: 'RTX4090', device: 'GPU-6d40bbbb-0000-0000-0000-000000000002' },
        { index: 2, gpu: 'A100-80GB', device: 'GPU-6d40cccc-0000-0000-0000-000000000003' },
      ],
      unknown: [expect.objectContaining({ index: 3, name: '[N/A]' })],
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
