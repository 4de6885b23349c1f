import type { PoolsRequest, PoolsResponse } from '@runledger/contracts/requests/pools';
import type { ShortageRequest } from '@runledger/contracts/requests/executors';
import { describe, expect, it } from 'vitest';
import { executor } from './steps.ts';
import { ORG, orgOf, TestBed } from './test-bed.ts';

const ALL: PoolsRequest = { org_id: null, gpu: null, after: null, limit: 100 };
const poolsOf = (bed: TestBed, request: Partial<PoolsRequest> = {}): PoolsResponse =>
  bed.scheduling.queries.pools({ ...ALL, ...request });
const deployment = (n: number): string =>
  `01920000-0000-7000-8000-${(0x0d00 + n).toString(16).padStart(12, '0')}`;

const ledBed = (): TestBed => {
  const bed = new TestBed();
  bed.lead();
  bed.tickAfter(0);
  return bed;
};

describe('the queue of a GPU model', () => {
  it('shows slots, waiting and running runs by organisation and deployment, starts and the oldest', () => {
    const bed = ledBed();
    executor('box', { gpus: ['A10G', 'A10G', 'A10G'] })(bed);
    bed.queue('one');
    bed.queue('two', { org: orgOf(1) });
    bed.settleAll();
    const since = '2026-01-01T00:00:01.000Z';
    bed.tickAfter(1_000);
    bed.queue('waits for its program', { program: 'train' });
    bed.tickAfter(1_000);
    bed.queue('second', { program: 'train', deployment: 1 });
    bed.queue('third', { program: 'train', deployment: 1 });
    expect(poolsOf(bed)).toEqual({
      pools: [
        {
          gpu: 'A10G',
          slots: 3,
          busy_slots: 2,
          waiting: 3,
          delayed: 0,
          running: 2,
          oldest_queued_at: since,
          starts_per_minute: 0.22,
          organisations: [
            {
              org_id: ORG,
              waiting: 3,
              delayed: 0,
              running: 1,
              oldest_queued_at: since,
              starts_per_minute: 0.11,
              deployments: [
                {
                  deployment_id: deployment(1),
                  waiting: 2,
                  delayed: 0,
                  running: 0,
                  oldest_queued_at: '2026-01-01T00:00:02.000Z',
                },
                { deployment_id: deployment(0), waiting: 1, delayed: 0, running: 1, oldest_queued_at: since },
              ],
              more_deployments: 0,
            },
            {
              org_id: orgOf(1),
              waiting: 0,
              delayed: 0,
              running: 1,
              oldest_queued_at: null,
              starts_per_minute: 0.11,
              deployments: [
                { deployment_id: deployment(0), waiting: 0, delayed: 0, running: 1, oldest_queued_at: null },
              ],
              more_deployments: 0,
            },
          ],
          more_organisations: 0,
        },
      ],
      more: false,
    });
  });

  it('shows an organisation nothing about others, nor about executors that cannot take its runs', () => {
    const bed = ledBed();
    executor('box')(bed);
    executor('dedicated', { dedicated: { render: [ORG] } })(bed);
    executor('elsewhere', { gpus: ['H100'] })(bed);
    for (const run of ['one', 'two', 'three']) bed.queue(run);
    bed.queue('other', { org: orgOf(1) });
    bed.settleAll();
    expect(poolsOf(bed, { org_id: orgOf(1) }).pools).toMatchObject([
      {
        gpu: 'A10G',
        slots: 1,
        busy_slots: 1,
        waiting: 1,
        running: 0,
        starts_per_minute: 0,
        organisations: [{ org_id: orgOf(1) }],
        more_organisations: 0,
      },
    ]);
    expect(poolsOf(bed, { org_id: orgOf(2) })).toEqual({ pools: [], more: false });
  });

  it('shows slots without runs, and runs without slots', () => {
    const bed = ledBed();
    executor('box')(bed);
    bed.queue('one', { gpu: 'H100' });
    expect(poolsOf(bed).pools).toMatchObject([
      { gpu: 'A10G', slots: 1, busy_slots: 0, waiting: 0, oldest_queued_at: null, organisations: [] },
      { gpu: 'H100', slots: 0, waiting: 1 },
    ]);
    bed.requestDrain('box');
    expect(poolsOf(bed, { gpu: 'A10G' }).pools).toMatchObject([{ slots: 0 }]);
    expect(poolsOf(bed, { gpu: 'L4' }).pools).toEqual([]);
  });

  it('counts runs that wait for a time beside those that wait for a slot', () => {
    const bed = ledBed();
    executor('box')(bed);
    bed.queue('now');
    bed.settleAll();
    bed.queue('soon', { delayS: 4 });
    bed.queue('later', { startAt: '2026-01-01T00:01:00.000Z', deployment: 1 });
    bed.queue('of others', { org: orgOf(1), delayS: 60 });
    bed.queue('elsewhere', { org: orgOf(1), gpu: 'H100', delayS: 60 });
    const [pool, other] = poolsOf(bed).pools;
    expect(pool).toMatchObject({
      waiting: 0,
      delayed: 3,
      running: 1,
      organisations: [
        {
          org_id: ORG,
          delayed: 2,
          running: 1,
          deployments: [
            { deployment_id: deployment(0), delayed: 1, running: 1 },
            { deployment_id: deployment(1), delayed: 1, running: 0, oldest_queued_at: null },
          ],
        },
        { org_id: orgOf(1), delayed: 1, running: 0, starts_per_minute: 0 },
      ],
    });
    expect(other).toMatchObject({ gpu: 'H100', slots: 0, waiting: 0, delayed: 1 });
    expect(poolsOf(bed, { org_id: orgOf(1), gpu: 'A10G' }).pools).toMatchObject([
      { slots: 1, busy_slots: 1, waiting: 0, delayed: 1, running: 0, organisations: [{ org_id: orgOf(1) }] },
    ]);
  });

  it('counts a run as delayed until its time, its cancel or its retry, and not longer', () => {
    const bed = ledBed();
    executor('box')(bed);
    const counts = (): unknown[] =>
      poolsOf(bed).pools.map(({ waiting, delayed, running }) => [waiting, delayed, running]);
    for (const run of ['one', 'two', 'three']) bed.queue(run, { delayS: 4 });
    expect(counts()).toEqual([[0, 3, 0]]);
    bed.requestCancel('three');
    bed.settleAll();
    expect(counts()).toEqual([[0, 2, 0]]);
    bed.tickAfter(4_500);
    bed.settleAll();
    expect(counts()).toEqual([[1, 0, 1]]);
    bed.start('one');
    bed.failAttempt('one', 30);
    bed.settleAll();
    expect(counts()).toEqual([[0, 1, 1]]);
    bed.forgetFleet();
    expect(counts()).toEqual([[0, 1, 1]]);
  });

  it('is paged by model, and names those with the most waiting runs', () => {
    const bed = ledBed();
    for (const gpu of ['C', 'A', 'B'] as const) bed.queue(`on ${gpu}`, { gpu });
    const first = poolsOf(bed, { limit: 2 });
    expect([first.pools.map(({ gpu }) => gpu), first.more]).toEqual([['A', 'B'], true]);
    const second = poolsOf(bed, { limit: 2, after: 'B' });
    expect([second.pools.map(({ gpu }) => gpu), second.more]).toEqual([['C'], false]);
    for (let n = 0; n < 25; n += 1) bed.queue(`run ${n}`, { gpu: 'D', org: orgOf(n), deployment: n });
    bed.queue('one more', { gpu: 'D', org: orgOf(24) });
    const [pool] = poolsOf(bed, { gpu: 'D' }).pools;
    expect([pool?.waiting, pool?.organisations.length, pool?.more_organisations]).toEqual([26, 20, 5]);
    expect(pool?.organisations[0]).toMatchObject({ org_id: orgOf(24), waiting: 2 });
  });

  it('counts a start once, for ten minutes, also those that a new scheduler reads', () => {
    const bed = ledBed();
    executor('box')(bed);
    bed.queue('one');
    bed.settleAll();
    bed.start('one');
    const starts = (): number | undefined => poolsOf(bed).pools[0]?.starts_per_minute;
    expect(starts()).toBe(0.11);
    bed.tickAfter(60_000);
    expect(starts()).toBe(0.11);
    bed.forgetFleet();
    expect(starts()).toBe(0.11);
    bed.tickAfter(9 * 60_000);
    expect(starts()).toBe(0);
  });
});

describe('why no executor can take runs', () => {
  const required: ShortageRequest = {
    org_id: ORG,
    gpus: ['A10G'],
    machine_id: '01920000-0000-7000-8000-0000000000a1',
    machine_name: 'farm',
    runner: { kind: 'program', program: 'render' },
    labels: [],
  };
  const shortage = (bed: TestBed, request: Partial<ShortageRequest> = {}) =>
    bed.scheduling.queries.shortage({ ...required, ...request });

  it('is told from the executors that are registered, free or not', () => {
    const bed = ledBed();
    expect(shortage(bed)).toBe('no_executor');
    executor('box', { gpus: ['A10G'], machines: ['*'], programs: ['render'], labels: ['zone:eu'] })(bed);
    expect(shortage(bed)).toBeNull();
    expect(shortage(bed, { gpus: ['H100'] })).toBe('no_gpu');
    expect(shortage(bed, { gpus: ['H100', 'A10G'] })).toBeNull();
    expect(shortage(bed, { runner: { kind: 'program', program: 'nosuch' } })).toBe('no_runner');
    expect(shortage(bed, { runner: { kind: 'comfyui' } })).toBe('no_runner');
    expect(shortage(bed, { labels: ['zone:us'] })).toBe('no_label');
    expect(shortage(bed, { labels: ['zone:eu'] })).toBeNull();
    bed.requestDrain('box');
    expect(shortage(bed)).toBeNull();
    executor('other', { gpus: ['T4'], machines: ['elsewhere'], programs: ['render'] })(bed);
    expect(shortage(bed, { gpus: ['T4'] })).toBe('not_served');
  });
});
