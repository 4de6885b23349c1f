import { describe, expect, it } from 'vitest';
import {
  A,
  MINUTE,
  now,
  observeBreakers,
  openFor,
  pass,
  SECOND,
  useStoppedTime,
} from './observed-breakers.ts';

useStoppedTime();

const PROBE = { kind: 'probing', limit: 1 };

describe('a restored breaker', () => {
  it('is open for the rest of its time, and is then probed', () => {
    const { breakers, state, changes } = observeBreakers();
    const until = now() + 100 * SECOND;
    breakers.restore(A, { opens: 3, until }, now());
    expect(changes).toEqual([[A, { kind: 'open', opens: 3, until }]]);
    pass(100 * SECOND - 1);
    expect(state()).toEqual({ kind: 'open', opens: 3, until });
    pass(SECOND);
    expect(state()).toEqual(PROBE);
  });

  it('continues with the next opening when its probe fails', () => {
    const { breakers, report, state } = observeBreakers();
    breakers.restore(A, { opens: 3, until: now() + SECOND }, now());
    pass(2 * SECOND);
    report('f');
    expect(state()).toEqual(openFor(240 * SECOND, 4));
  });

  it('is not probed at once when its time is over, but in turn with all the others', () => {
    const { breakers } = observeBreakers();
    for (let nth = 0; nth < 300; nth++)
      breakers.restore(`${nth}`, { opens: 1, until: now() - MINUTE }, now());
    expect(breakers.open).toBe(300);
    pass(0);
    expect(breakers.open).toBe(300);
    const stillOpen: number[] = [];
    for (let second = 0; second < 30; second++) {
      pass(SECOND);
      stillOpen.push(breakers.open);
    }
    expect(stillOpen).toEqual(Array.from({ length: 30 }, (_, second) => 290 - 10 * second));
  });

  it('does not replace one that is open or probed', () => {
    const { breakers, report, state } = observeBreakers();
    report('fffff');
    breakers.restore(A, { opens: 9, until: now() + 10 * MINUTE }, now());
    expect(state()).toEqual(openFor(30 * SECOND));
    pass(30 * SECOND);
    breakers.restore(A, { opens: 9, until: now() + 10 * MINUTE }, now());
    expect(state()).toEqual(PROBE);
  });

  it('replaces a closed one with a few failures', () => {
    const { breakers, report, state } = observeBreakers();
    report('ff');
    breakers.restore(A, { opens: 2, until: now() + MINUTE }, now());
    expect(state()).toEqual(openFor(MINUTE, 2));
    expect(breakers.size).toBe(1);
  });

  it.each([
    { opens: Number.NaN, until: now() + SECOND },
    { opens: 0, until: Number.NaN },
    { opens: 1e300, until: Number.POSITIVE_INFINITY },
    { opens: -1, until: Number.NEGATIVE_INFINITY },
  ])('is open for 15 minutes at most, also with invalid values: %o', (opening) => {
    const { breakers, state } = observeBreakers();
    breakers.restore(A, opening, now());
    expect(state()).toMatchObject({ kind: 'open', opens: 1 });
    pass(15 * MINUTE + SECOND);
    expect(state()).toEqual(PROBE);
  });
});
