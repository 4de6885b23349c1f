import { gpuModel } from '@runledger/contracts/gpu';
import { createMetrics } from '@runledger/service-kit/metrics';
import { describe, expect, it } from 'vitest';
import { schedulerMetrics } from '../src/scheduler-metrics.ts';
import { executor, queued } from './core/steps.ts';
import { TestBed } from './core/test-bed.ts';

const observedTestBed = () => {
  const bed = new TestBed();
  bed.lead();
  const metrics = createMetrics('scheduler');
  schedulerMetrics(metrics, { scheduling: bed.scheduling, leading: () => true, now: () => bed.nowMs });
  const read = async (name: string): Promise<Record<string, number>> => {
    const all = await metrics.getMetricsAsJSON();
    const values = all.find((each) => each.name === `runledger_scheduler_${name}`)?.values ?? [];
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['gpu']), value]));
  };
  return { bed, read };
};

const models = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => gpuModel(`${prefix}-${n}`));

const sum = (values: Record<string, number>): number => Object.values(values).reduce((a, b) => a + b, 0);

describe('the gauges by GPU model', () => {
  it('count each model that an executor has by itself, and all others together', async () => {
    const { bed, read } = observedTestBed();
    executor('box', { gpus: ['RTX4090', 'RTX4090', 'CPU'] })(bed);
    for (const [run, gpu] of [
      ['a', 'RTX4090'],
      ['b', 'H200'],
      ['c', 'MISSPELT'],
    ] as const)
      queued(run, { gpu, program: 'missing' })(bed);
    queued('d', { gpu: 'RTX4090', delayS: 600 })(bed);
    bed.tickAfter(90_000);
    expect(await read('delayed_runs')).toEqual({ RTX4090: 1, CPU: 0, other: 0 });
    expect(await read('queue_length')).toEqual({ RTX4090: 1, CPU: 0, other: 2 });
    expect(await read('oldest_waiting_seconds')).toEqual({ RTX4090: 90, CPU: 0, other: 90 });
    expect(await read('slots')).toEqual({ RTX4090: 2, CPU: 1, other: 0 });
    expect(await read('slots_busy')).toEqual({ RTX4090: 0, CPU: 0, other: 0 });
  });

  it('keep a model whose executors left, so that its waiting runs are seen', async () => {
    const { bed, read } = observedTestBed();
    executor('box', { gpus: ['H200'] })(bed);
    expect(await read('slots')).toEqual({ H200: 1, other: 0 });
    bed.leave('box');
    queued('a', { gpu: 'H200' })(bed);
    expect(await read('slots')).toEqual({ H200: 0, other: 0 });
    expect(await read('queue_length')).toEqual({ H200: 1, other: 0 });
  });

  it('have a bounded number of labels, whatever clients and executors name', async () => {
    const { bed, read } = observedTestBed();
    for (const gpu of models('CLIENT', 1_000)) queued(gpu, { gpu })(bed);
    for (let n = 0; n < 4; n += 1) executor(`box-${n}`, { gpus: models(`BOX-${n}`, 200) })(bed);
    for (const [name, total] of [
      ['queue_length', 1_000],
      ['slots', 800],
    ] as const) {
      const values = await read(name);
      expect([sum(values), Object.keys(values).length]).toEqual([total, 101]);
    }
  });
});
