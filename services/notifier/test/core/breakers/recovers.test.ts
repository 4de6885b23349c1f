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

const probing = (limit: number) => ({ kind: 'probing', limit });
const wholeRamp = 's'.repeat(1 + 2 + 4 + 8);

describe('an open breaker', () => {
  it('is probed after 30 seconds', () => {
    const { report, state } = observeBreakers();
    report('fffff');
    pass(30 * SECOND - 1);
    expect(state().kind).toBe('open');
    pass(1);
    expect(state()).toEqual(probing(1));
  });

  it('stays open twice as long after each probe that fails, up to 15 minutes', () => {
    const { report, state } = observeBreakers();
    report('fffff');
    for (const [nth, seconds] of [30, 60, 120, 240, 480, 900, 900, 900].entries()) {
      expect(state()).toEqual(openFor(seconds * SECOND, nth + 1));
      pass(seconds * SECOND - 1);
      expect(state().kind).toBe('open');
      pass(1);
      expect(state()).toEqual(probing(1));
      report('f');
    }
  });

  it('ignores every result', () => {
    const { breakers, report, state, changes } = observeBreakers();
    report('fffff');
    const opened = state();
    report('sfns'.repeat(20));
    expect(state()).toBe(opened);
    expect(changes).toHaveLength(1);
    expect(breakers.open).toBe(1);
  });

  it('opens once for many requests that were in flight together', () => {
    const { breakers, state } = observeBreakers();
    const tickets = Array.from({ length: 100 }, () => breakers.ticket);
    for (const ticket of tickets) breakers.report(A, ticket, 'failure', now());
    pass(0);
    expect(state()).toEqual(openFor(30 * SECOND));
  });
});

describe('an open breaker whose recovery somebody expects', () => {
  const openForLong = () => {
    const tried = observeBreakers();
    tried.breakers.restore(A, { opens: 6, until: now() + 15 * MINUTE }, now());
    return tried;
  };

  it('is probed 30 seconds after it opened', () => {
    const { breakers, state, changes } = openForLong();
    pass(20 * SECOND);
    breakers.endSoon(A, now());
    pass(10 * SECOND - 1);
    expect(state().kind).toBe('open');
    pass(1);
    expect(state()).toEqual(probing(1));
    pass(15 * MINUTE);
    expect(changes).toHaveLength(2);
  });

  it('is probed at once when it has been open for longer', () => {
    const { breakers, report, state } = openForLong();
    pass(5 * MINUTE);
    breakers.endSoon(A, now());
    expect(state()).toEqual(probing(1));
    report('f');
    expect(state()).toEqual(openFor(15 * MINUTE, 7));
  });

  it('stays as it is when it is not open, or ends sooner', () => {
    const { breakers, report, state, changes } = observeBreakers();
    breakers.endSoon(A, now());
    report('fffff');
    breakers.endSoon(A, now());
    expect(state()).toEqual(openFor(30 * SECOND));
    pass(30 * SECOND);
    breakers.endSoon(A, now());
    expect(state()).toEqual(probing(1));
    expect(changes).toHaveLength(2);
  });
});

describe('a breaker that is probed', () => {
  const untilProbed = () => {
    const tried = observeBreakers();
    tried.report('fffff');
    pass(30 * SECOND);
    return tried;
  };

  it('allows 1, 2, 4 and 8 attempts, each when the previous ones have succeeded, and is then closed', () => {
    const { report, changes, state } = untilProbed();
    for (const limit of [1, 2, 4, 8]) {
      expect(state()).toEqual(probing(limit));
      report('s'.repeat(limit - 1));
      expect(state()).toEqual(probing(limit));
      report('s');
    }
    expect(state()).toEqual({ kind: 'closed' });
    expect(changes.slice(1).map(([, state]) => state)).toEqual([
      probing(1),
      probing(2),
      probing(4),
      probing(8),
      { kind: 'closed' },
    ]);
  });

  it('allows more attempts at once, within the report of a success', () => {
    const { breakers, state } = untilProbed();
    breakers.report(A, breakers.ticket, 'success', now());
    expect(state()).toEqual(probing(2));
  });

  it.each(['f', 'sf', 'sssf', 'sssssssf', 'ssssssssssssssf'])(
    'opens again for longer after %s',
    (outcomes) => {
      const { report, state } = untilProbed();
      report(outcomes);
      expect(state()).toEqual(openFor(60 * SECOND, 2));
    },
  );

  it('waits for another probe when one had no result about the receiver', () => {
    const { report, state, changes } = untilProbed();
    report('nnn');
    expect(state()).toEqual(probing(1));
    expect(changes).toHaveLength(2);
    report('s');
    expect(state()).toEqual(probing(2));
  });

  it('ignores requests from before it opened', () => {
    const { breakers, report, state } = observeBreakers();
    const [early, slow] = [breakers.ticket, breakers.ticket];
    report('fffff');
    const [whileOpen, openToo] = [breakers.ticket, breakers.ticket];
    pass(30 * SECOND);
    for (const late of [early, whileOpen]) breakers.report(A, late, 'success', now());
    for (const late of [slow, openToo]) breakers.report(A, late, 'failure', now());
    expect(state()).toEqual(probing(1));
  });

  it('ignores a probe of an earlier opening', () => {
    const { breakers, report, state } = untilProbed();
    const slow = breakers.ticket;
    report('f');
    pass(60 * SECOND);
    breakers.report(A, slow, 'success', now());
    expect(state()).toEqual(probing(1));
  });

  it('is closed after ten minutes without a failure, however little was sent', () => {
    const { breakers, report, state } = untilProbed();
    report('s');
    pass(9 * MINUTE);
    expect(state()).toEqual(probing(2));
    pass(2 * MINUTE);
    expect(state()).toEqual({ kind: 'closed' });
    expect(breakers.size).toBe(0);
  });

  it('is not closed sooner when it was open for longer than ten minutes', () => {
    const { breakers, report, state } = observeBreakers();
    breakers.restore(A, { opens: 9, until: now() + 15 * MINUTE }, now());
    pass(15 * MINUTE + SECOND);
    report('s');
    pass(9 * MINUTE);
    expect(state()).toEqual(probing(2));
    pass(2 * MINUTE);
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('waits for its probe without a limit', () => {
    const { report, state } = untilProbed();
    pass(60 * MINUTE);
    expect(state()).toEqual(probing(1));
    report('f');
    expect(state()).toEqual(openFor(60 * SECOND, 2));
  });
});

describe('a breaker that has recovered', () => {
  const recovered = () => {
    const tried = observeBreakers();
    tried.report('fffff');
    pass(30 * SECOND);
    tried.report(`f`);
    pass(60 * SECOND);
    tried.report(wholeRamp);
    return tried;
  };

  it('opens for 30 seconds again once it has had a success', () => {
    const { report, state } = recovered();
    report('sfffff');
    expect(state()).toEqual(openFor(30 * SECOND));
  });

  it('opens for longer when it fails before any success', () => {
    const { report, state } = recovered();
    report('fffff');
    expect(state()).toEqual(openFor(120 * SECOND, 3));
  });

  it('ignores failures of attempts that began before it recovered', () => {
    const { breakers, report, state } = observeBreakers();
    report('fffff');
    pass(30 * SECOND);
    const slow = Array.from({ length: 5 }, () => breakers.ticket);
    report(wholeRamp);
    for (const ticket of slow) breakers.report(A, ticket, 'failure', now());
    expect(state()).toEqual({ kind: 'closed' });
  });
});
