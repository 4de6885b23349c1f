import { describe, expect, it } from 'vitest';
import { attemptFailed, cancelRequested, executor, passed, queued, stored } from '../steps.ts';
import { given, TestBed } from '../test-bed.ts';

const assigned = (run: string): unknown[] => [expect.stringContaining(run)];
const START = '2026-01-01T00:00:04.000Z';

describe('a run that is queued to start later', () => {
  it.each([
    ['by a delay', { delayS: 4 }],
    ['at a time', { startAt: START }],
  ])('is assigned when its time has come, and not before: %s', (_how, start) => {
    const delayed = [executor('box'), queued('one', { ...start, startDeadlineS: 1 })];
    expect(given(...delayed).when(passed(3_500, 'box'))).toEqual([]);
    expect(given(...delayed).when(passed(4_000, 'box'))).toEqual(assigned('one'));
  });

  it('is assigned at once when its time is past', () => {
    expect(given(executor('box')).when(queued('one', { startAt: '2025-12-31T00:00:00.000Z' }))).toEqual(
      assigned('one'),
    );
  });

  it('keeps no other run from a slot', () => {
    expect(given(executor('box'), queued('one', { delayS: 4 })).when(queued('two'))).toEqual(assigned('two'));
  });

  it('is not assigned after a cancel, which ends it at once', () => {
    const cancelled = [executor('box'), queued('one', { delayS: 4 }), cancelRequested('one')];
    expect(given(...cancelled).when(passed(6_000, 'box'))).toEqual([]);
  });

  it('has its start deadline from the time when it may start', () => {
    const waiting = [queued('one', { delayS: 4, startDeadlineS: 10 })];
    expect(given(...waiting).when(passed(13_500))).toEqual([]);
    expect(given(...waiting).when(passed(14_500))).toEqual(['one is timed out: no_capacity']);
  });

  it('waits after a failed attempt as any other, and is then not delayed again', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [executor('box'), queued('one', { delayS: 4 }), passed(4_500, 'box'), stored])
      step(bed);
    bed.start('one');
    attemptFailed('one', 0)(bed);
    expect(bed.run('one')).toMatchObject({ not_before: null, attempt: { number: 1 } });
  });
});

describe('what is known of a run that is queued to start later', () => {
  const waiting = () => {
    const bed = new TestBed();
    bed.lead();
    bed.tickAfter(0);
    bed.queue('one', { delayS: 4 });
    return bed;
  };
  const oldest = (bed: TestBed) => {
    const request = { org_id: null, gpu: null, after: null, limit: 10 };
    const [pool] = bed.scheduling.queries.pools(request).pools;
    return pool && [pool.waiting, pool.oldest_queued_at];
  };

  it('says that it waits for its time, in no queue', () => {
    const bed = waiting();
    const { queries } = bed.scheduling;
    expect(queries.queuePosition(bed.key('one'))).toEqual({ ahead: 0, capacity: 'delayed' });
    expect(queries.waitReason(bed.key('one'))).toMatchObject({ eta: null, no_eta: 'not_yet' });
    expect([[...bed.scheduling.queues()], oldest(bed)]).toEqual([[], [0, null]]);
  });

  it('counts it as waiting since its time', () => {
    const bed = waiting();
    bed.tickAfter(5_000);
    bed.queue('two');
    const since = bed.run('one')?.not_before;
    expect(bed.scheduling.queries.queuePosition(bed.key('one'))?.capacity).toBe('no_gpu');
    expect([...bed.scheduling.queues()]).toEqual([{ gpu: 'A10G', length: 2, oldest: since }]);
    expect(oldest(bed)).toEqual([2, since]);
  });

  it('is the same for a scheduler that takes over', () => {
    const bed = waiting();
    bed.forgetFleet();
    expect(bed.scheduling.queries.queuePosition(bed.key('one'))).toEqual({ ahead: 0, capacity: 'delayed' });
    bed.lead();
    executor('box')(bed);
    expect(bed.open).toEqual([]);
    bed.pass(4_500, { alive: ['box'] });
    expect(bed.last.map(({ type }) => type)).toEqual(['assign']);
  });
});
