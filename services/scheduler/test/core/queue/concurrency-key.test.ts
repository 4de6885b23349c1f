import { describe, expect, it } from 'vitest';
import { attemptFailed, executor, left, passed, queued, running, stored, succeeded } from '../steps.ts';
import { ENFORCE_MS, given, orgOf, TestBed, type Step } from '../test-bed.ts';

const TWO = { gpus: ['A10G', 'A10G'] } as const;
const ofUser = (key: string, more: object = {}) => ({ key, ...more });
const twoSlots = (...others: readonly Step[]) => given(executor('box', TWO), ...others);
const start =
  (name: string): Step =>
  (bed) =>
    bed.start(name);

describe('runs of a deployment with one concurrency key', () => {
  it('hold one slot at a time, also while others are free', () =>
    expect(twoSlots(queued('one', ofUser('a'))).when(queued('two', ofUser('a')))).toEqual([]));

  it.each([
    ['in the order in which they were queued', {}, 'two'],
    ['in the order of their priorities', { priority: 1 }, 'three'],
  ])('start %s, each when the one before it ends', (_order, request, next) =>
    expect(
      twoSlots(
        queued('one', ofUser('a')),
        stored,
        start('one'),
        queued('two', ofUser('a')),
        queued('three', ofUser('a', request)),
      ).when(succeeded('one')),
    ).toEqual([`${next} is assigned to box slot 1, attempt 1`]),
  );

  it.each([
    ['of another key', ofUser('b')],
    ['without a key', {}],
    ['of another deployment', ofUser('a', { deployment: 1 })],
    ['of another organisation', ofUser('a', { org: orgOf(1) })],
  ])('let a run %s go first', (_which, request) =>
    expect(
      twoSlots(queued('one', ofUser('a')), queued('two', ofUser('a'))).when(queued('other', request)),
    ).toEqual(['other is assigned to box slot 1, attempt 1']),
  );

  it('do not wait for one that no executor can take', () =>
    expect(
      given(
        ...running('first', 'box'),
        queued('stuck', ofUser('a', { program: 'train' })),
        queued('next', ofUser('a')),
      ).when(succeeded('first')),
    ).toEqual(['next is assigned to box slot 0, attempt 1']));

  it('find a slot that was free all the time, when the other is not for them', () =>
    expect(
      given(
        executor('trainer', { programs: ['train'] }),
        executor('other', { gpus: ['H100'] }),
        queued('one', ofUser('a', { program: 'train' })),
        stored,
        queued('two', ofUser('a', { gpu: 'H100' })),
        start('one'),
      ).when(succeeded('one')),
    ).toEqual(['two is assigned to other slot 0, attempt 1']));

  it.each<[string, Step]>([
    ['has another attempt later', attemptFailed('one', 30)],
    ['is queued again, since its executor left', left('box')],
    ['timed out', passed(10_000 + ENFORCE_MS, 'box', 'other')],
  ])('do not wait for one that %s', (_why, step) => {
    const bed = new TestBed();
    bed.lead();
    executor('box')(bed);
    executor('other', { gpus: ['H100'] })(bed);
    bed.queue('one', ofUser('a', { runTimeoutS: 10 }));
    bed.settleAll();
    bed.start('one');
    bed.queue('two', ofUser('a', { gpu: 'H100' }));
    step(bed);
    bed.settleAll();
    bed.settleAll();
    expect(bed.run('two')?.status).toBe('started');
  });

  it('wait again after a new leader has read the log', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box', TWO)(bed);
    for (const run of ['one', 'two']) bed.queue(run, ofUser('a'));
    bed.settleAll();
    bed.forgetFleet();
    bed.lead();
    executor('box', TWO)(bed);
    expect(bed.last).toEqual([]);
    expect(bed.scheduling.queries.queuePosition(bed.key('two'))?.capacity).toBe('concurrency_key');
  });

  it('say why they wait, and why one never started', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box', TWO)(bed);
    bed.queue('one', ofUser('a'));
    bed.queue('two', ofUser('a', { startDeadlineS: 5 }));
    expect(bed.scheduling.queries.waitReason(bed.key('two'))).toMatchObject({
      capacity: 'concurrency_key',
      executors: { free_slots: 1 },
    });
    bed.settleAll();
    bed.start('one');
    bed.pass(20_000, { alive: ['box'] });
    expect(bed.last).toMatchObject([
      { type: 'time_out', message: expect.stringContaining('same concurrency_key') as string },
    ]);
  });
});
