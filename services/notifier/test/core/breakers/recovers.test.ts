import { describe, expect, it } from 'vitest';
import { A, MINUTE, openFor, pass, SECOND, tryBreakers, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

const probing = (limit: number) => ({ kind: 'probing', limit });
const wholeRamp = 's'.repeat(1 + 2 + 4 + 8);

describe('an open breaker', () => {
  it('asks for a probe after 30 seconds', async () => {
    const { tell, state } = tryBreakers();
    await tell('fffff');
    await pass(30 * SECOND - 1);
    expect(state().kind).toBe('open');
    await pass(1);
    expect(state()).toEqual(probing(1));
  });

  it('stays open twice as long after each probe that fails, up to 15 minutes', async () => {
    const { tell, state } = tryBreakers();
    await tell('fffff');
    for (const [nth, seconds] of [30, 60, 120, 240, 480, 900, 900, 900].entries()) {
      expect(state()).toEqual(openFor(seconds * SECOND, nth + 1));
      await pass(seconds * SECOND - 1);
      expect(state().kind).toBe('open');
      await pass(1);
      expect(state()).toEqual(probing(1));
      await tell('f');
    }
  });

  it('is not moved by any result', async () => {
    const { breakers, tell, state, changes } = tryBreakers();
    await tell('fffff');
    const opened = state();
    await tell('sfns'.repeat(20));
    expect(state()).toBe(opened);
    expect(changes).toHaveLength(1);
    expect(breakers.open).toBe(1);
  });

  it('opens once for many requests that were in flight together', async () => {
    const { breakers, state } = tryBreakers();
    const tickets = Array.from({ length: 100 }, () => breakers.ticket(A));
    for (const ticket of tickets) breakers.report(A, ticket, 'failure');
    await pass(0);
    expect(state()).toEqual(openFor(30 * SECOND));
  });
});

describe('a breaker that is probed', () => {
  const untilProbed = async () => {
    const tried = tryBreakers();
    await tried.tell('fffff');
    await pass(30 * SECOND);
    return tried;
  };

  it('lets 1, 2, 4 and 8 through, each when as many have succeeded, and is closed then', async () => {
    const { tell, changes, state } = await untilProbed();
    for (const limit of [1, 2, 4, 8]) {
      expect(state()).toEqual(probing(limit));
      await tell('s'.repeat(limit - 1));
      expect(state()).toEqual(probing(limit));
      await tell('s');
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

  it('lets more through at once, within the report of a success', async () => {
    const { breakers, state } = await untilProbed();
    breakers.report(A, breakers.ticket(A), 'success');
    expect(state()).toEqual(probing(2));
  });

  it.each(['f', 'sf', 'sssf', 'sssssssf', 'ssssssssssssssf'])(
    'opens again for longer after %s',
    async (outcomes) => {
      const { tell, state } = await untilProbed();
      await tell(outcomes);
      expect(state()).toEqual(openFor(60 * SECOND, 2));
    },
  );

  it('waits for another probe when one said nothing of the receiver', async () => {
    const { tell, state, changes } = await untilProbed();
    await tell('nnn');
    expect(state()).toEqual(probing(1));
    expect(changes).toHaveLength(2);
    await tell('s');
    expect(state()).toEqual(probing(2));
  });

  it('is not moved by requests from before it opened', async () => {
    const { breakers, tell, state } = tryBreakers();
    const [early, slow] = [breakers.ticket(A), breakers.ticket(A)];
    await tell('fffff');
    const [whileOpen, openToo] = [breakers.ticket(A), breakers.ticket(A)];
    await pass(30 * SECOND);
    for (const late of [early, whileOpen]) breakers.report(A, late, 'success');
    for (const late of [slow, openToo]) breakers.report(A, late, 'failure');
    expect(state()).toEqual(probing(1));
  });

  it('is not moved by a probe of an earlier opening', async () => {
    const { breakers, tell, state } = await untilProbed();
    const slow = breakers.ticket(A);
    await tell('f');
    await pass(60 * SECOND);
    breakers.report(A, slow, 'success');
    expect(state()).toEqual(probing(1));
  });

  it('is closed after ten minutes without a failure, however little was sent', async () => {
    const { breakers, tell, state } = await untilProbed();
    await tell('s');
    await pass(9 * MINUTE);
    expect(state()).toEqual(probing(2));
    await pass(2 * MINUTE);
    expect(state()).toEqual({ kind: 'closed' });
    expect(breakers.instances).toBe(0);
  });

  it('is not closed sooner for having been open so long that its failures are forgotten', async () => {
    const { breakers, tell, state } = tryBreakers();
    breakers.restore(A, { opens: 9, until: Date.now() + 15 * MINUTE });
    await pass(15 * MINUTE + SECOND);
    await tell('s');
    await pass(9 * MINUTE);
    expect(state()).toEqual(probing(2));
    await pass(2 * MINUTE);
    expect(state()).toEqual({ kind: 'closed' });
  });

  it('waits for its probe for ever, without an opossum breaker', async () => {
    const { breakers, tell, state } = await untilProbed();
    await pass(60 * MINUTE);
    expect(breakers.instances).toBe(0);
    expect(state()).toEqual(probing(1));
    await tell('f');
    expect(state()).toEqual(openFor(60 * SECOND, 2));
  });
});

describe('a breaker that has recovered', () => {
  const recovered = async () => {
    const tried = tryBreakers();
    await tried.tell('fffff');
    await pass(30 * SECOND);
    await tried.tell(`f`);
    await pass(60 * SECOND);
    await tried.tell(wholeRamp);
    return tried;
  };

  it('opens for 30 seconds again once it has had a success', async () => {
    const { tell, state } = await recovered();
    await tell('sfffff');
    expect(state()).toEqual(openFor(30 * SECOND));
  });

  it('opens for longer when it fails before any success', async () => {
    const { tell, state } = await recovered();
    await tell('fffff');
    expect(state()).toEqual(openFor(120 * SECOND, 3));
  });

  it('is not opened by what was begun before', async () => {
    const { breakers, tell, state } = tryBreakers();
    await tell('fffff');
    await pass(30 * SECOND);
    const slow = Array.from({ length: 5 }, () => breakers.ticket(A));
    await tell(wholeRamp);
    for (const ticket of slow) breakers.report(A, ticket, 'failure');
    expect(state()).toEqual({ kind: 'closed' });
  });
});
