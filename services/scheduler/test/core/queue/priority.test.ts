import { describe, expect, it } from 'vitest';
import { executor, passed, queued, running, succeeded } from '../steps.ts';
import { given, orgOf, TestBed, type Step } from '../test-bed.ts';

const next = (name: string): string[] => [`${name} is assigned to box slot 0, attempt 1`];
const startsNext = (...waiting: readonly Step[]) =>
  given(...running('first', 'box'), ...waiting).when(succeeded('first'));

describe('the priority of a run', () => {
  it('starts it before those that were queued before it', () =>
    expect(startsNext(queued('early'), queued('urgent', { priority: 1 }))).toEqual(next('urgent')));

  it('starts it after those that were queued after it, when it is negative', () =>
    expect(startsNext(queued('whenever', { priority: -1 }), queued('late'))).toEqual(next('late')));

  it('is a head start of a minute for each step, so no run waits for ever', () => {
    const urgent = queued('urgent', { priority: 2 });
    expect(startsNext(queued('early'), passed(119_000, 'box'), urgent)).toEqual(next('urgent'));
    expect(startsNext(queued('early'), passed(121_000, 'box'), urgent)).toEqual(next('early'));
  });

  it('leaves runs of equal priority in the order in which they were queued', () =>
    expect(
      startsNext(queued('one', { priority: 5 }), queued('normal'), queued('two', { priority: 5 })),
    ).toEqual(next('one')));

  it('says nothing about the runs of other deployments and organisations', () => {
    for (const other of [{ deployment: 1 }, { org: orgOf(1) }])
      expect(startsNext(queued('other', other), queued('urgent', { priority: 100 }))).toEqual(next('other'));
  });

  it('passes over a run that the executor cannot take', () =>
    expect(startsNext(queued('stuck', { priority: 9, program: 'train' }), queued('normal'))).toEqual(
      next('normal'),
    ));

  it('counts in queue positions', () => {
    const bed = new TestBed();
    bed.lead();
    executor('box')(bed);
    for (const [name, priority] of Object.entries({ first: 0, normal: 0, low: -3, urgent: 3 }))
      bed.queue(name, { priority });
    const ahead = ['urgent', 'normal', 'low'].map(
      (name) => bed.scheduling.queries.queuePosition(bed.key(name))?.ahead,
    );
    expect(ahead).toEqual([0, 1, 2]);
  });
});
