import { describe, expect, it } from 'vitest';
import { A, MINUTE, openFor, pass, SECOND, tryBreakers, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

const PROBE = { kind: 'probing', limit: 1 };

describe('a restored breaker', () => {
  it('is open for the time that was left, and is probed then', async () => {
    const { breakers, state, changes } = tryBreakers();
    const until = Date.now() + 100 * SECOND;
    breakers.restore(A, { opens: 3, until });
    expect(changes).toEqual([[A, { kind: 'open', opens: 3, until }]]);
    expect(breakers.instances).toBe(0);
    await pass(100 * SECOND - 1);
    expect(state()).toEqual({ kind: 'open', opens: 3, until });
    await pass(SECOND);
    expect(state()).toEqual(PROBE);
  });

  it('goes on where it was when its probe fails', async () => {
    const { breakers, tell, state } = tryBreakers();
    breakers.restore(A, { opens: 3, until: Date.now() + SECOND });
    await pass(2 * SECOND);
    await tell('f');
    expect(state()).toEqual(openFor(240 * SECOND, 4));
  });

  it('is not probed at once although its time is over, nor with all the others', async () => {
    const { breakers } = tryBreakers();
    for (let nth = 0; nth < 300; nth++) breakers.restore(`${nth}`, { opens: 1, until: Date.now() - MINUTE });
    expect(breakers.open).toBe(300);
    await pass(0);
    expect(breakers.open).toBe(300);
    const stillOpen: number[] = [];
    for (let second = 0; second < 30; second++) {
      await pass(SECOND);
      stillOpen.push(breakers.open);
    }
    expect(stillOpen).toEqual(Array.from({ length: 30 }, (_, second) => 290 - 10 * second));
  });

  it('stays as it is when it is known to be open or probed', async () => {
    const { breakers, tell, state } = tryBreakers();
    await tell('fffff');
    breakers.restore(A, { opens: 9, until: Date.now() + 10 * MINUTE });
    expect(state()).toEqual(openFor(30 * SECOND));
    await pass(30 * SECOND);
    breakers.restore(A, { opens: 9, until: Date.now() + 10 * MINUTE });
    expect(state()).toEqual(PROBE);
  });

  it('takes the place of one that is closed with a few failures', async () => {
    const { breakers, tell, state } = tryBreakers();
    await tell('ff');
    breakers.restore(A, { opens: 2, until: Date.now() + MINUTE });
    expect(state()).toEqual(openFor(MINUTE, 2));
    expect(breakers.instances).toBe(0);
  });

  it.each([
    { opens: Number.NaN, until: Date.now() + SECOND },
    { opens: 0, until: Number.NaN },
    { opens: 1e300, until: Number.POSITIVE_INFINITY },
    { opens: -1, until: Number.NEGATIVE_INFINITY },
  ])('is open for 15 minutes at most, whatever was kept: %o', async (opening) => {
    const { breakers, state } = tryBreakers();
    breakers.restore(A, opening);
    expect(state()).toMatchObject({ kind: 'open', opens: 1 });
    await pass(15 * MINUTE + SECOND);
    expect(state()).toEqual(PROBE);
  });
});
