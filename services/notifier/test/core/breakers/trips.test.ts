import { describe, expect, it } from 'vitest';
import { MINUTE, now, observeBreakers, openFor, pass, SECOND, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

describe('a closed breaker', () => {
  it('opens on the fifth failure in a row, and not on the fourth', () => {
    const { report, state } = observeBreakers();
    report('ffff');
    expect(state()).toEqual({ kind: 'closed' });
    report('f');
    expect(state()).toEqual(openFor(30 * SECOND));
  });

  it('counts from zero after each success', () => {
    const { report, state } = observeBreakers();
    report('ffffssssssssffff');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it.each([
    ['closed', '5 of 10 have failed', 'ffssfsfssf'],
    ['open', '6 of 10 have failed', 'ffsfsfsfsf'],
    ['closed', '6 of 9 have failed', 'fffsffssf'],
    ['closed', '7 of 10 have failed, until another one does', 'ffffsfffss'],
    ['open', '8 of 11 have failed', 'ffffsfffssf'],
  ] as const)('is %s when %s: %s', (kind, _, outcomes) => {
    const { report, state } = observeBreakers();
    report(outcomes);
    expect(state().kind).toBe(kind);
  });

  it('opens at once, within the report', () => {
    const { breakers, changes } = observeBreakers();
    const ticket = breakers.ticket;
    for (let nth = 0; nth < 5; nth++) breakers.report('a', ticket, 'failure', now());
    expect(breakers.state('a')).toEqual(openFor(30 * SECOND));
    expect(changes).toEqual([['a', openFor(30 * SECOND)]]);
  });

  it('forgets results that are over ten minutes old', () => {
    const { report, state } = observeBreakers();
    report('ffffsffff');
    pass(11 * MINUTE);
    report('sffsf');
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('counts for its own key only', () => {
    const { report, state } = observeBreakers();
    report('fffff', 'org-1 https://a.example:443');
    expect(state('org-2 https://a.example:443')).toEqual({ kind: 'closed' });
  });

  it('ignores results that show nothing about the receiver', () => {
    const { report, state } = observeBreakers();
    report('ffff' + 'n'.repeat(50));
    expect(state()).toEqual({ kind: 'closed' });
    report('f');
    expect(state().kind).toBe('open');
  });
});
