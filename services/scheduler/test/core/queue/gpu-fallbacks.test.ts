import { describe, expect, it } from 'vitest';
import {
  attemptFailed,
  executor,
  left,
  passed,
  queued,
  running,
  started,
  stored,
  succeeded,
} from '../steps.ts';
import { given, orgOf, TestBed } from '../test-bed.ts';

const L4 = { gpus: ['L4'] } as const;
const A10G = { gpus: ['A10G'] } as const;
const either = { gpu: 'L4', fallbacks: [{ gpu: 'A10G', after_s: 0 }] } as const;
const later = { gpu: 'L4', fallbacks: [{ gpu: 'A10G', after_s: 30 }] } as const;

describe('a run that may take several GPU models', () => {
  it.each([
    ['the first one of them that has a free slot', [executor('ten', A10G)], 'ten'],
    ['the one that it prefers, when both have one', [executor('ten', A10G), executor('four', L4)], 'four'],
  ])('gets a slot of %s', (_which, executors, box) =>
    expect(given(...executors).when(queued('one', either))).toEqual([
      `one is assigned to ${box} slot 0, attempt 1`,
    ]),
  );

  it('gets the slot that it prefers also of one executor with both', () =>
    expect(given(queued('one', either)).when(executor('box', { gpus: ['A10G', 'L4'] }))).toEqual([
      'one is assigned to box slot 1, attempt 1',
    ]));

  it('takes nothing from those who are before it for the model that it prefers', () =>
    expect(
      given(queued('first', { gpu: 'L4' }), queued('one', either)).when(
        executor('box', { gpus: ['A10G', 'L4'] }),
      ),
    ).toEqual(['first is assigned to box slot 1, attempt 1', 'one is assigned to box slot 0, attempt 1']));

  it('takes a later model only after it has waited so long, and still any earlier one', () => {
    const waiting = [executor('ten', A10G), queued('one', later)];
    expect(given(...waiting).when(passed(29_500, 'ten'))).toEqual([]);
    expect(given(...waiting).when(passed(30_500, 'ten'))).toEqual([
      'one is assigned to ten slot 0, attempt 1',
    ]);
    const both = [...running('busy', 'ten', { gpu: 'A10G' }), queued('one', later), passed(31_000, 'ten')];
    expect(given(...both).when(executor('four', L4))).toEqual(['one is assigned to four slot 0, attempt 1']);
    expect(given(...both).when(succeeded('busy'))).toEqual(['one is assigned to ten slot 0, attempt 1']);
  });

  it('is not passed by a later run of its deployment that may take a later model by now', () => {
    const one = { ...later, concurrencyLimit: 1, deployment: 0, maxAttempts: 2 };
    const held = [executor('den', L4), queued('held', one), stored, started('held')];
    const box = executor('box', { gpus: ['A10G', 'L4'] });
    expect(
      given(...held, box, queued('second', one), passed(31_000, 'den', 'box'), left('den')).when(stored),
    ).toEqual(['held is assigned to box slot 1, attempt 2']);
  });

  it('begins its list again when it waits again', () => {
    const retried = [
      executor('four', L4),
      queued('one', { ...later, maxAttempts: 2 }),
      stored,
      started('one'),
      passed(40_000, 'four'),
      attemptFailed('one', 4),
      queued('busy', { gpu: 'L4' }),
      stored,
      executor('ten', A10G),
    ];
    expect(given(...retried).when(passed(33_500, 'four', 'ten'))).toEqual([]);
    expect(given(...retried).when(passed(34_500, 'four', 'ten'))).toEqual([
      'one is assigned to ten slot 0, attempt 2',
    ]);
  });

  it('shares the slots of each model with those who wait for that one', () => {
    const waiting = [...running('busy', 'ten', { gpu: 'A10G' }), queued('one', { ...either, org: orgOf(1) })];
    expect(given(...waiting, queued('two', { gpu: 'A10G' })).when(succeeded('busy'))).toEqual([
      'one is assigned to ten slot 0, attempt 1',
    ]);
  });

  it('is counted once when it starts, and waits nowhere any more', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [queued('one', either), executor('ten', A10G)]) step(bed);
    bed.settleAll();
    expect(bed.run('one')).toMatchObject({ status: 'started', attempt: { gpu: 'A10G' } });
    expect([...bed.scheduling.queues()]).toEqual([]);
    const pools = bed.scheduling.queries.pools({ org_id: null, gpu: null, after: null, limit: 10 }).pools;
    expect(pools.map(({ gpu, waiting, running: held }) => [gpu, waiting, held])).toEqual([['A10G', 0, 1]]);
  });

  it('counts the slots and the runs ahead of all models that it may take by now', () => {
    const bed = new TestBed();
    bed.lead();
    const steps = [
      executor('four', L4),
      queued('a', { gpu: 'L4' }),
      stored,
      ...running('b', 'ten', { gpu: 'A10G' }),
      queued('c', { gpu: 'L4' }),
      queued('one', later),
    ];
    for (const step of steps) step(bed);
    const wait = () => bed.scheduling.queries.waitReason(bed.key('one'));
    expect(wait()).toMatchObject({ ahead: 1, executors: { serving: 1, busy_slots: 1 } });
    bed.pass(31_000, { alive: ['four', 'ten'] });
    expect(wait()).toMatchObject({ ahead: 0, executors: { serving: 2, busy_slots: 2 } });
  });
});
