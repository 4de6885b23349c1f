import { describe, expect, it } from 'vitest';
import { A, MINUTE, observeBreakers, openFor, pass, SECOND, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

describe('the results of a breaker', () => {
  it('count for ten minutes, so that successive time-outs of 15 seconds open it', () => {
    const { report, state } = observeBreakers();
    for (const outcome of 'ffffsffff') {
      pass(15 * SECOND);
      report(outcome);
    }
    expect(state().kind).toBe('closed');
    pass(5 * MINUTE);
    report('sf');
    expect(state().kind).toBe('open');
  });

  it('are all counted, also a thousand at one moment', () => {
    const { report, state } = observeBreakers();
    report('f' + 's'.repeat(1_000));
    report('ffff');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('do not close it when they show nothing about the receiver', () => {
    const { report, state } = observeBreakers();
    report('fffff');
    pass(30 * SECOND);
    report('n'.repeat(20));
    expect(state()).toEqual({ kind: 'probing', limit: 1 });
    report('f');
    expect(state()).toEqual(openFor(60 * SECOND, 2));
  });

  it('are not counted while it is open', () => {
    const { report, state } = observeBreakers();
    report('ffffsffffsf');
    expect(state().kind).toBe('open');
    report('f'.repeat(200));
    pass(30 * SECOND);
    report('s'.repeat(15));
    // 9 of 26 have failed now. 19 of 38 are half, 20 of 39 are more.
    report('ffffsffffsff');
    expect(state().kind).toBe('closed');
    report('f');
    expect(state().kind).toBe('open');
  });

  it('change its state at once, also for a result at the same moment', () => {
    const { breakers, report, state, changes } = observeBreakers();
    report('fffff');
    pass(30 * SECOND);
    report('s');
    report('f');
    expect(changes.map(([, { kind }]) => kind)).toEqual(['open', 'probing', 'probing', 'open']);
    expect(state()).toEqual(openFor(60 * SECOND, 2));
    expect(breakers.open).toBe(1);
  });

  it('schedule a tick only for the end of an opening, or until old results are dropped', () => {
    const { breakers, report } = observeBreakers();
    expect(breakers.nextTick).toBe(Infinity);
    report('f');
    expect(breakers.nextTick).toBeLessThan(Infinity);
    report('ffff');
    pass(30 * SECOND - 1);
    expect(breakers.state(A).kind).toBe('open');
    expect(breakers.nextTick).toBe(1_700_000_000_000 + 30 * SECOND);
  });
});
