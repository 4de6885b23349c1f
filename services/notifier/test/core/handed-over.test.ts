import { beforeEach, describe, expect, it } from 'vitest';
import { aRun, finalOf, observeOutboxes, SECOND, type ObservedOutboxes } from './observed-outboxes.ts';

let observed: ObservedOutboxes;
beforeEach(() => {
  observed = observeOutboxes();
});

const run = aRun();
const addIntermediate = (runs: number): void => observed.addIntermediate(run, { runs });

describe('a partition that is handed over', () => {
  it('waits for attempts in flight, and withdraws waiting ones', () => {
    observed.addFinal(finalOf(aRun(), 1));
    observed.finals[0]?.end('accepted');
    for (const sequence of [2, 3, 4]) observed.addFinal(finalOf(aRun(), sequence));
    expect(observed.finals).toHaveLength(3);
    observed.close();
    observed.finals[1]?.end('accepted');
    observed.pass(10 * SECOND);
    expect(observed.isClosed()).toBe(false);
    observed.finals[2]?.end('interrupted');
    expect(observed.isClosed()).toBe(true);
    expect(observed.finals).toHaveLength(3);
    expect(observed.settled).toEqual([1, 2]);
    expect(observed.deferred).toEqual([]);
    const { limits, waiting } = observed.core.state;
    expect([limits.inFlight, waiting]).toEqual([0, 0]);
  });

  it('waits until deferrals are stored', () => {
    observed.trip();
    const waiting: (() => void)[] = [];
    observed.defer = (done) => void waiting.push(done);
    observed.addFinal(finalOf(run, 1));
    observed.close();
    expect(observed.isClosed()).toBe(false);
    for (const done of waiting) done();
    expect(observed.isClosed()).toBe(true);
    expect(observed.settled).toEqual([1]);
  });

  it('leaves an interrupted intermediate notification to the next holder', () => {
    addIntermediate(5);
    addIntermediate(6);
    observed.close();
    observed.intermediates[0]?.end('interrupted');
    expect(observed.isClosed()).toBe(true);
    expect(observed.settledNews).toEqual([]);
  });

  it('begins no attempt', () => {
    observed.close();
    observed.addFinal(finalOf(run, 1));
    addIntermediate(2);
    observed.pass(60 * SECOND);
    expect([observed.finals, observed.intermediates]).toEqual([[], []]);
  });
});
