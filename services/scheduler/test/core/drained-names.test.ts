import { casesOf } from '@runledger/testing/random/cases';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { executor, queued, drained, resumed } from './steps.ts';
import { given, TestBed, type Step } from './test-bed.ts';

const assigned = (run: string, to: string): string => `${run} is assigned to ${to} slot 0, attempt 1`;

describe('a drained name', () => {
  it('gets no runs', () => expect(given(executor('box'), drained('box')).when(queued('one'))).toEqual([]));

  it('gets no runs when its executor starts or restarts', () => {
    expect(given(drained('box'), executor('box')).when(queued('one'))).toEqual([]);
    const again: Step = (bed) => {
      bed.leave('box');
      bed.register('box');
      bed.heartbeat('box');
    };
    expect(given(executor('box'), drained('box'), again).when(queued('one'))).toEqual([]);
  });

  it('gets no runs when its executor was lost and returns', () =>
    expect(
      given(executor('box'), (bed) => {
        bed.heartbeat('box');
        bed.lose('box');
        bed.requestDrain('box');
        bed.heartbeat('box');
        bed.heartbeat('box');
      }).when(queued('one')),
    ).toEqual([]));

  it('leaves its runs to others', () =>
    expect(given(executor('a'), executor('b'), drained('a')).when(queued('one'))).toEqual([
      assigned('one', 'b'),
    ]));

  it('keeps the runs that execute there', () => {
    const bed = new TestBed();
    bed.lead();
    for (const step of [executor('box'), queued('one')]) step(bed);
    bed.settleAll();
    bed.start('one');
    bed.requestDrain('box');
    bed.pass(20_000, { alive: ['box'] });
    expect(bed.last).toEqual([]);
    bed.succeed('one');
    expect(bed.run('one')?.status).toBe('success');
  });

  it('gets the waiting runs when it is resumed', () =>
    expect(given(executor('box'), drained('box'), queued('one')).when(resumed('box'))).toEqual([
      assigned('one', 'box'),
    ]));

  it('is not resumed by a new registration of a draining executor', () => {
    const stopping: Step = (bed) => bed.drain('box');
    const again: Step = (bed) => bed.register('box');
    expect(given(executor('box'), drained('box'), stopping, again).when(queued('one'))).toEqual([]);
    expect(given(executor('box'), stopping, drained('box'), resumed('box')).when(queued('one'))).toEqual([]);
  });

  it('is resumed by one request after repeated drains', () =>
    expect(
      given(executor('box'), drained('box'), drained('box'), resumed('box')).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));

  it('is not drained by a late request from before the resume', () =>
    expect(
      given(executor('box'), (bed) => {
        bed.requestResume('box', { sequence: 20 });
        bed.requestDrain('box', { sequence: 10 });
      }).when(queued('one')),
    ).toEqual([assigned('one', 'box')]));
});

describe('requests for names', () => {
  const names = ['a', 'b', 'c'] as const;
  const request = fc.record({ name: fc.constantFrom(...names), drain: fc.boolean() });

  it('count by their position in the log, in any order of delivery', () => {
    const requestsInAnyOrder = fc
      .array(request, { minLength: 1, maxLength: 12 })
      .chain((requests) =>
        fc.tuple(
          fc.constant(requests),
          fc.shuffledSubarray([...requests.keys(), ...requests.keys()], { minLength: requests.length * 2 }),
        ),
      );
    fc.assert(
      fc.property(requestsInAnyOrder, ([requests, order]) => {
        const bed = new TestBed();
        bed.lead();
        for (const name of names) executor(name)(bed);
        for (const index of order) {
          const next = requests[index];
          if (next?.drain) bed.requestDrain(next.name, { sequence: 100 + index });
          else if (next) bed.requestResume(next.name, { sequence: 100 + index });
        }
        for (const name of names) {
          const last = requests.findLast((other) => other.name === name);
          expect(isDrained(bed, name)).toBe(last?.drain ?? false);
        }
      }),
      { numRuns: casesOf(40) },
    );
  });

  it('have no effect after all names are resumed, in any order', () => {
    const orders = fc.tuple(
      fc.shuffledSubarray([...names], { minLength: 3 }),
      fc.shuffledSubarray([...names], { minLength: 3 }),
      fc.integer({ min: 0, max: 5 }),
    );
    fc.assert(
      fc.property(orders, ([drains, resumes, runs]) => {
        const bed = new TestBed();
        bed.lead();
        const decided: string[] = [];
        bed.onDecided = (_input, decisions) => {
          for (const decision of decisions) {
            if (decision.type === 'assign') decided.push(bed.nameOf(decision.key));
          }
        };
        for (const name of names) executor(name)(bed);
        for (const name of drains) bed.requestDrain(name);
        for (let run = 0; run < runs; run += 1) bed.queue(`run ${run}`);
        expect(decided).toEqual([]);
        for (const name of resumes) bed.requestResume(name);
        expect(decided).toEqual(Array.from({ length: Math.min(runs, 3) }, (_, run) => `run ${run}`));
      }),
      { numRuns: casesOf(20) },
    );
  });
});

const isDrained = ({ scheduling }: TestBed, name: string): boolean =>
  scheduling.queries.executors({ name, after: null, limit: 1 }).executors.some(({ drain }) => drain !== null);
