import { beforeEach, describe, expect, it } from 'vitest';
import { answers, observeReceivers, receiver, SECOND, type ObservedReceivers } from './observed-receivers.ts';

let observed: ObservedReceivers;
beforeEach(() => {
  observed = observeReceivers();
});

const A = receiver('a');

/** How often deferred deliveries are loaded, by a log that answers so. */
const loading = (
  answer: (loads: number) => { readonly isLeft: boolean; readonly afterMs: number },
  what: (receivers: ObservedReceivers) => void,
): number => {
  const receivers = observeReceivers({ maxInFlight: 10 });
  const { core } = receivers;
  let loads = 0;
  core.surroundings.load = ({ receiver }) => {
    loads += 1;
    const { isLeft, afterMs } = answer(loads);
    const end = isLeft ? 'end' : 'nothing_found';
    core.after(afterMs, () => core.handle({ type: 'deferred_loaded', receiver, lastSequence: 0, end }));
  };
  what(receivers);
  return loads;
};

const nothing = (): { readonly isLeft: boolean; readonly afterMs: number } => ({ isLeft: false, afterMs: 0 });

describe('a deferred delivery', () => {
  it('is loaded as soon as its receiver can take it', () => {
    const items = observed.submitMany(3_000, A, { behaviour: answers('accepted', 1) });
    expect(observed.core.deferredAt(A)).toHaveLength(999);
    observed.pass(3 * SECOND);
    expect(items.every(({ ended }) => ended === 1)).toBe(true);
    expect([observed.state.limits.inFlight, observed.state.waiting]).toEqual([0, 0]);
    expect(observed.core.deferred.size).toBe(0);
  });

  it('is looked for once a second while all of them are in memory', () => {
    const inMemory = (loads: number) => ({ isLeft: loads < 10, afterMs: 0 });
    const once = (ms: number): number =>
      loading(inMemory, ({ expectDeferred, pass }) => {
        expectDeferred(A);
        pass(ms);
      });
    expect(once(3_500)).toBe(4);
    expect(once(60 * SECOND)).toBe(10);
  });

  it('is looked for again when it was deferred during a load', () => {
    const loads = loading(
      (times) => ({ isLeft: false, afterMs: times === 1 ? 10 : 0 }),
      ({ expectDeferred, pass }) => {
        expectDeferred(A);
        expectDeferred(A);
        pass(2 * SECOND);
      },
    );
    expect(loads).toBe(2);
  });

  it('is looked for at every receiver, also when none has one', () => {
    const loads = loading(nothing, ({ expectDeferred, pass }) => {
      for (let host = 0; host < 300; host += 1) expectDeferred(receiver(`h${host}`));
      pass(6 * SECOND);
    });
    expect(loads).toBe(300);
  });

  it('is looked for at no more than fifty unknown receivers a second', () => {
    const loads = loading(nothing, ({ expectDeferred, pass }) => {
      for (let host = 0; host < 1_000; host += 1) expectDeferred(receiver(`h${host}`));
      pass(3 * SECOND);
    });
    expect(loads).toBe(200);
  });
});
