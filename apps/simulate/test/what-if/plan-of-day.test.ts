import { isDeleted, type Run } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { isImpossible } from '@runledger/contracts/fold/chain';
import { gpuModel } from '@runledger/contracts/gpu';
import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { planOfDay } from '../../src/what-if/plan-of-day.ts';
import type { CapturedDay } from '../../src/what-if/captured-day.ts';
import type { ExecutorLifetime } from '../../src/what-if/fleet-of-day.ts';

const TIME = '2026-05-01T00:00:00.000Z';
const ORG = newUuid();
const NOTHING = { weights: new Map(), limits: new Map(), gpus: new Map() };

const fold = (...events: readonly RunEvent[]): Run => {
  const run = events.reduce<Run | undefined>((before, event, n) => {
    const after = RUN_CHAIN.evolve(before, { event, sequence: n + 1, time: TIME });
    if (isImpossible(after) || isDeleted(after)) throw new Error(JSON.stringify(after));
    return after;
  }, undefined);
  if (!run) throw new Error('no event');
  return run;
};

const aQueuedRun = (request: Parameters<typeof queued>[1]): Run => fold(queued(aRun(ORG), request));

const executor = (name: string, changes: Partial<ExecutorLifetime['capabilities']>): ExecutorLifetime => ({
  name,
  slots: ['L4'],
  capabilities: {
    gpus: new Set([gpuModel('L4')]),
    machines: new Set(['*']),
    programs: new Set(['render-image']),
    labels: new Set(),
    dedicated: new Map(),
    ...changes,
  },
  fromMs: Date.parse(TIME),
  toMs: Date.parse(TIME) + 1,
  end: null,
});

const dayOf = (runs: readonly Run[], ...executors: readonly ExecutorLifetime[]): CapturedDay => {
  const extent = { created: TIME, first_sequence: 1, last_sequence: 1 };
  return {
    header: {
      kind: 'header',
      version: 2,
      from: TIME,
      to: TIME,
      warm_up_from: TIME,
      organisations: [],
      deployments: [],
      runs: [],
      content: { kept: [], masked: {} },
      streams: { RUNS: extent, FLEET: extent, DELIVERY_ATTEMPTS: extent },
    },
    runs,
    fleet: { executors, drains: [] },
    older: 0,
    gaps: [],
  };
};

describe('the plan of a captured day', () => {
  it('has what runs require as labels, of the executors that have it', () => {
    const runs = [
      aQueuedRun({ machine_id: 'm1' }),
      aQueuedRun({ machine_id: 'm2' }),
      aQueuedRun({ machine_id: 'm1', labels: ['nvlink'] }),
      aQueuedRun({ machine_id: 'm1', runner: { kind: 'program', program: 'train' } }),
    ];
    const { plan } = planOfDay(
      dayOf(
        runs,
        executor('all', { labels: new Set(['nvlink']), programs: new Set(['render-image', 'train']) }),
        executor('one', { machines: new Set(['m1']) }),
      ),
      { ...NOTHING, gpus: new Map([['H100', 1]]) },
    );
    expect(plan.deployments.map(({ labels }) => labels)).toEqual([
      undefined,
      ['need-0'],
      ['need-1'],
      ['need-2'],
    ]);
    const all = ['need-0', 'need-1', 'need-2'];
    expect(plan.executors).toEqual([
      { slots: ['L4'], labels: all },
      { slots: ['L4'] },
      { slots: ['H100'], labels: all },
    ]);
  });

  it('keeps lists of GPU models, and runs of one deployment together', () => {
    const gpu_fallbacks = [{ gpu: gpuModel('A10G'), after_s: 60 }];
    const runs = [
      aQueuedRun({ gpu: 'L4', gpu_fallbacks, weight: 1 }),
      aQueuedRun({ gpu: 'H100', weight: 3, concurrency_limit: 2 }),
    ];
    const { plan } = planOfDay(dayOf(runs, executor('all', {})), NOTHING);
    expect(plan.deployments).toMatchObject([
      { gpu: 'L4', gpu_fallbacks, weight: 3, concurrency_limit: 2 },
      { gpu: 'H100', of: 0, weight: 3, concurrency_limit: 2 },
    ]);
  });

  it('knows of a version that it stays loaded when a run of it was warm', () => {
    const key = aRun(ORG);
    const reason = { candidates: 1, choice: 'warm', waited_s: 0 } as const;
    const warm = fold(queued(key, { warm_wait_s: 30 }), assigned(key, { data: { reason } }));
    const other = aQueuedRun({ deployment_id: newUuid(), workflow_version_id: newUuid() });
    const { plan } = planOfDay(dayOf([warm, other], executor('all', {})), NOTHING);
    expect(plan.deployments.map(({ version, warm_wait_s }) => [version, warm_wait_s])).toEqual([
      [0, 30],
      [undefined, undefined],
    ]);
  });
});
