import { beforeEach, describe, expect, it } from 'vitest';
import { hasFinal } from '../../src/core/state.ts';
import { aRun, finalOf, observeOutboxes, SECOND, type ObservedOutboxes } from './observed-outboxes.ts';

let observed: ObservedOutboxes;
beforeEach(() => {
  observed = observeOutboxes();
});

const run = aRun();
const addIntermediate = (runs: number): void => observed.addIntermediate(run, { runs });
const addProgress = (activity: number): void => observed.addIntermediate(run, { activity });
const countOutboxes = (): number => observed.core.state.outboxes.size;

describe('the final notification of a run', () => {
  it('is attempted at once, and the message that caused it is settled once', () => {
    observed.addFinal(finalOf(run, 9));
    expect(observed.finals).toHaveLength(1);
    expect(hasFinal(observed.core.state, run.run_id)).toBe(true);
    observed.finals[0]?.end('accepted');
    observed.pass();
    expect(observed.settled).toEqual([9]);
    expect(hasFinal(observed.core.state, run.run_id)).toBe(false);
    expect(countOutboxes()).toBe(0);
  });

  it('replaces an intermediate one that waits', () => {
    observed.addIntermediate(aRun(), { runs: 1 });
    // The only permit of the receiver is in use.
    addIntermediate(3);
    observed.addFinal(finalOf(run, 4));
    expect(observed.settledNews).toEqual([3]);
    observed.intermediates[0]?.end('accepted');
    observed.pass();
    expect(observed.finals.map(({ run: sent }) => sent)).toEqual([run.run_id]);
    expect(observed.intermediates).toHaveLength(1);
  });

  it('waits for an intermediate one in flight, and no other follows it', () => {
    addIntermediate(1);
    addIntermediate(2);
    observed.addFinal(finalOf(run, 3));
    addIntermediate(4);
    addProgress(50);
    observed.pass(10 * SECOND);
    expect(observed.finals).toEqual([]);
    observed.intermediates[0]?.end('accepted');
    observed.pass();
    expect(observed.finals).toHaveLength(1);
    observed.finals[0]?.end('accepted');
    observed.pass(60 * SECOND);
    expect(observed.intermediates).toHaveLength(1);
    expect(observed.settledNews.toSorted((a, b) => a - b)).toEqual([1, 2, 4, 50]);
  });

  it('is attempted at once, also within a second after an intermediate one', () => {
    addIntermediate(1);
    observed.intermediates[0]?.end('accepted');
    observed.pass(10);
    observed.addFinal(finalOf(run, 2));
    expect(observed.finals).toHaveLength(1);
  });

  it('settles all messages of the same round', () => {
    for (const sequence of [3, 4, 5]) observed.addFinal(finalOf(run, sequence));
    observed.finals[0]?.end('accepted');
    observed.pass();
    expect(observed.finals).toHaveLength(1);
    expect(observed.settled).toEqual([3, 4, 5]);
  });

  it('is followed by the one of a later round', () => {
    observed.addFinal(finalOf(run, 3));
    observed.addFinal(finalOf(run, 6, { round: 2 }));
    observed.addFinal(finalOf(run, 5));
    observed.finals[0]?.end('accepted');
    observed.pass();
    expect(observed.settled).toEqual([3, 5]);
    observed.finals[1]?.end('accepted');
    observed.pass();
    expect(observed.finals.map(({ delivery }) => delivery?.round)).toEqual([1, 2]);
    expect(observed.settled).toEqual([3, 5, 6]);
  });

  it('is followed by the next one in memory when a newer message in TIMERS replaces it', () => {
    observed.addFinal(finalOf(run, 3));
    observed.addFinal(finalOf(run, 4, { kind: 'due' }));
    observed.finals[0]?.end('superseded');
    observed.pass();
    expect(observed.settled).toEqual([3]);
    expect(observed.finals).toHaveLength(2);
  });

  it('stays in memory when its attempt was interrupted, and is attempted again', () => {
    observed.addFinal(finalOf(run, 3));
    observed.finals[0]?.end('interrupted');
    observed.pass(10 * SECOND);
    expect(observed.settled).toEqual([]);
    expect(hasFinal(observed.core.state, run.run_id)).toBe(true);
    observed.pass(5 * SECOND);
    expect(observed.finals).toHaveLength(2);
  });
});

describe('a final notification that cannot be sent for now', () => {
  it('is deferred once, and the next one waits until that is stored', () => {
    observed.trip();
    const waiting: (() => void)[] = [];
    observed.defer = (done) => void waiting.push(done);
    observed.addFinal(finalOf(run, 3));
    observed.addFinal(finalOf(run, 6, { round: 2 }));
    observed.pass();
    expect(observed.deferred).toEqual([3]);
    expect(observed.settled).toEqual([]);
    observed.defer = undefined;
    for (const done of waiting) done();
    observed.pass();
    expect(observed.deferred).toEqual([3, 6]);
    expect(observed.finals).toEqual([]);
    // What is stored in TIMERS stands for it from now on.
    expect(observed.settled).toEqual([3, 6]);
    expect(countOutboxes()).toBe(0);
  });

  it('stays in memory when its deferral could not be stored, and is queued again', () => {
    observed.trip();
    const { handle } = observed.core;
    observed.core.surroundings.defer = ({ delivery }) => {
      const outcome = { kind: 'failed', why: 'the log is full' } as const;
      handle({ type: 'deferral_finished', run: delivery.key.run_id, outcome });
    };
    observed.addFinal(finalOf(run, 3));
    expect(hasFinal(observed.core.state, run.run_id)).toBe(true);
    observed.pass(60 * SECOND);
    expect(observed.finals).toHaveLength(1);
    observed.finals[0]?.end('accepted');
    expect(observed.settled).toEqual([3]);
  });
});
