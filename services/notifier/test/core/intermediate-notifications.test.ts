import { beforeEach, describe, expect, it } from 'vitest';
import { aRun, observeOutboxes, SECOND, type ObservedOutboxes } from './observed-outboxes.ts';

let observed: ObservedOutboxes;
beforeEach(() => {
  observed = observeOutboxes();
});

const run = aRun();
const addIntermediate = (runs: number): void => observed.addIntermediate(run, { runs });
const addProgress = (activity: number): void => observed.addIntermediate(run, { activity });
const countOutboxes = (): number => observed.core.state.outboxes.size;

describe('the intermediate notifications of a run', () => {
  it('begin at once, and then at most once a second, always with the latest', () => {
    addIntermediate(1);
    expect(observed.intermediates).toHaveLength(1);
    addIntermediate(2);
    addProgress(50);
    addIntermediate(3);
    observed.intermediates[0]?.end('accepted');
    observed.pass(999);
    expect(observed.intermediates).toHaveLength(1);
    expect(observed.settledNews).toEqual([1]);
    observed.pass(1);
    expect(observed.intermediates.map(({ atLeast }) => atLeast)).toEqual([1, 3]);
    observed.intermediates[1]?.end('accepted');
    observed.pass();
    expect(observed.settledNews).toEqual([1, 2, 3, 50]);
  });

  it('are sent at most once a second, also when the previous one was answered', () => {
    addIntermediate(1);
    observed.intermediates[0]?.end('accepted');
    observed.pass(500);
    addIntermediate(2);
    expect(observed.intermediates).toHaveLength(1);
    observed.pass(500);
    expect(observed.intermediates).toHaveLength(2);
  });

  it('are sent one after the other with a second between them, however long one takes', () => {
    addIntermediate(1);
    addIntermediate(2);
    observed.pass(10 * SECOND);
    expect(observed.intermediates).toHaveLength(1);
    observed.intermediates[0]?.end('timed_out');
    observed.pass(999);
    expect(observed.intermediates).toHaveLength(1);
    observed.pass(1);
    expect(observed.intermediates).toHaveLength(2);
  });

  it('are not sent again when they were refused', () => {
    addIntermediate(1);
    observed.intermediates[0]?.end('client_error');
    observed.pass(60 * SECOND);
    expect(observed.intermediates).toHaveLength(1);
    expect(observed.settledNews).toEqual([1]);
  });

  it.each(['no_dns', 'proxy_failed', 'interrupted'] as const)(
    'are queued again after %s, because the next one may be hours away',
    (sent) => {
      addIntermediate(7);
      observed.intermediates[0]?.end(sent);
      observed.pass(14 * SECOND);
      expect(observed.intermediates).toHaveLength(1);
      observed.pass(2 * SECOND);
      expect(observed.intermediates.map(({ atLeast }) => atLeast)).toEqual([7, 7]);
      expect(observed.settledNews).toEqual([7]);
    },
  );

  it('are queued again when they could not be sent, and do not hold up the log meanwhile', () => {
    observed.trip();
    addIntermediate(7);
    observed.pass();
    expect(observed.intermediates).toEqual([]);
    expect(observed.settledNews).toEqual([7]);
    addIntermediate(8);
    observed.pass(60 * SECOND);
    expect(observed.intermediates.map(({ atLeast }) => atLeast)).toEqual([8]);
  });

  it('leave no outbox when nothing more is to be sent', () => {
    addIntermediate(1);
    observed.intermediates[0]?.end('nothing');
    observed.pass(SECOND);
    expect(countOutboxes()).toBe(0);
  });
});
