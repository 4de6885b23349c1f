import { describe, expect, it } from 'vitest';
import { MINUTE, openFor, pass, SECOND, tryBreakers, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

describe('a closed breaker', () => {
  it('opens on the fifth failure in a row, and not on the fourth', async () => {
    const { tell, state } = tryBreakers();
    await tell('ffff');
    expect(state()).toEqual({ kind: 'closed' });
    await tell('f');
    expect(state()).toEqual(openFor(30 * SECOND));
  });

  it('begins to count anew with each success', async () => {
    const { tell, state } = tryBreakers();
    await tell('ffffssssssssffff');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it.each([
    ['closed', '5 of 10 have failed', 'ffssfsfssf'],
    ['open', '6 of 10 have failed', 'ffsfsfsfsf'],
    ['closed', '6 of 9 have failed', 'fffsffssf'],
    ['closed', '7 of 10 have failed, until another one does', 'ffffsfffss'],
    ['open', '8 of 11 have failed', 'ffffsfffssf'],
  ] as const)('is %s when %s: %s', async (kind, _, outcomes) => {
    const { tell, state } = tryBreakers();
    await tell(outcomes);
    expect(state().kind).toBe(kind);
  });

  it('opens at once, within the report', () => {
    const { breakers, changes } = tryBreakers();
    const ticket = breakers.ticket('a');
    for (let nth = 0; nth < 5; nth++) breakers.report('a', ticket, 'failure');
    expect(breakers.state('a')).toEqual(openFor(30 * SECOND));
    expect(changes).toEqual([['a', openFor(30 * SECOND)]]);
  });

  it('forgets results that are over ten minutes old', async () => {
    const { tell, state } = tryBreakers();
    await tell('ffffsffff');
    await pass(11 * MINUTE);
    await tell('sffsf');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('stands for its own key only', async () => {
    const { tell, state } = tryBreakers();
    await tell('fffff', 'org-1 https://a.example:443');
    expect(state('org-2 https://a.example:443')).toEqual({ kind: 'closed' });
  });

  it('is not moved by what says nothing of the receiver', async () => {
    const { tell, state } = tryBreakers();
    await tell('ffff' + 'n'.repeat(50));
    expect(state()).toEqual({ kind: 'closed' });
    await tell('f');
    expect(state().kind).toBe('open');
  });
});
