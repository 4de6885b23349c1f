import { describe, expect, it } from 'vitest';
import { attemptFailed, executor, left, queued, stored, succeeded } from '../steps.ts';
import { given, orgOf, TestBed, type Step } from '../test-bed.ts';

const TWO = { gpus: ['A10G', 'A10G'] } as const;
const limited = (limit: number, more: object = {}) => ({ concurrencyLimit: limit, ...more });
const twoSlots = (...others: readonly Step[]) => given(executor('box', TWO), ...others);

describe('a deployment with a concurrency limit', () => {
  it('has no more runs in slots than that, also while slots are free', () =>
    expect(twoSlots(queued('one', limited(1))).when(queued('two', limited(1)))).toEqual([]));

  it('has the next one in a slot as soon as one ends', () =>
    expect(
      twoSlots(queued('one', limited(1)), stored, queued('two', limited(1)), (bed) => bed.start('one')).when(
        succeeded('one'),
      ),
    ).toEqual(['two is assigned to box slot 1, attempt 1']));

  it('has the next one in a slot that was free all the time, when the other is not for it', () => {
    const [first, second] = [limited(1, { program: 'train' }), limited(1, { gpu: 'H100' })];
    expect(
      given(
        executor('trainer', { programs: ['train'] }),
        executor('other', { gpus: ['H100'] }),
        queued('one', first),
        stored,
        queued('two', second),
        (bed) => bed.start('one'),
      ).when(succeeded('one')),
    ).toEqual(['two is assigned to other slot 0, attempt 1']);
  });

  it.each<[string, Step]>([
    ['has another attempt later', attemptFailed('one', 30)],
    ['is queued again, since its executor left', left('box')],
  ])('does not count a run that %s', (_why, step) => {
    const bed = new TestBed();
    bed.lead();
    executor('box')(bed);
    executor('other', { gpus: ['H100'] })(bed);
    bed.queue('one', limited(1));
    bed.settleAll();
    bed.start('one');
    bed.queue('two', limited(1, { gpu: 'H100' }));
    step(bed);
    bed.settleAll();
    bed.settleAll();
    expect(bed.run('two')?.status).toBe('started');
  });

  it('does not count a run whose assignment is refused, since it was cancelled before', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box', TWO)(bed);
    bed.queue('one', limited(1));
    bed.queue('two', limited(1));
    bed.undelivered = [];
    bed.requestCancel('one');
    bed.settleAll();
    expect(bed.last.map((decision) => decision.type === 'assign' && bed.nameOf(decision.key))).toEqual([
      'two',
    ]);
  });

  it('counts again after a new leader has read the log', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box', TWO)(bed);
    for (const run of ['one', 'two']) bed.queue(run, limited(1));
    bed.settleAll();
    bed.forgetFleet();
    bed.lead();
    executor('box', TWO)(bed);
    expect(bed.last).toEqual([]);
    expect(bed.scheduling.queries.queuePosition(bed.key('two'))?.capacity).toBe('concurrency_limit');
  });

  it('leaves the slots to other deployments, and to other organisations', () =>
    expect(
      twoSlots(queued('one', limited(1)), queued('two', limited(1)), queued('other', { deployment: 1 })).when(
        queued('foreign', { org: orgOf(1), ...limited(1) }),
      ),
    ).toEqual([]));

  it('has runs with the limit with which each was queued', () =>
    expect(
      twoSlots(queued('one', limited(1)), queued('two', limited(1))).when(queued('three', limited(2))),
    ).toEqual(['three is assigned to box slot 1, attempt 1']));

  it('is the reason why a run waits, and why it never started', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box', TWO)(bed);
    bed.queue('one', limited(1));
    bed.queue('two', { ...limited(1), startDeadlineS: 5 });
    expect(bed.scheduling.queries.waitReason(bed.key('two'))).toMatchObject({
      capacity: 'concurrency_limit',
      executors: { free_slots: 1 },
    });
    bed.settleAll();
    bed.start('one');
    bed.pass(20_000, { alive: ['box'] });
    expect(bed.last).toMatchObject([
      {
        type: 'time_out',
        reason: 'start_deadline',
        message: expect.stringContaining('concurrency_limit of 1') as string,
      },
    ]);
  });
});
