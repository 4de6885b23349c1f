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

const keys = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, nth) => `https://${nth}.example:443`);

describe('the state of healthy receivers', () => {
  it('is not kept', () => {
    const { breakers, report } = observeBreakers();
    report('sssnn');
    expect(breakers.size).toBe(0);
  });

  it('is dropped ten minutes after the last failure', () => {
    const { breakers, report } = observeBreakers();
    report('f');
    expect(breakers.size).toBe(1);
    pass(8 * MINUTE);
    report('s');
    expect(breakers.size).toBe(1);
    pass(2 * MINUTE);
    expect(breakers.size).toBe(0);
  });

  it('stays within its limit when 20,000 of them fail once, and is dropped afterwards', () => {
    const { breakers } = observeBreakers({ maxBreakers: 5_000 });
    for (const key of keys(20_000)) {
      breakers.report(key, breakers.ticket, 'failure', now());
      breakers.report(key, breakers.ticket, 'success', now());
    }
    expect(breakers.size).toBe(5_000);
    pass(11 * MINUTE);
    expect(breakers.size).toBe(0);
    expect(breakers.nextTick).toBe(Infinity);
  });
});

describe('the breakers of very many failing receivers', () => {
  const dead = (count: number, maxBreakers = 1_000) => {
    const observed = observeBreakers({ maxBreakers });
    for (const key of keys(count)) observed.report('fffff', key);
    return observed;
  };

  it('are all open', () => {
    const { breakers, state } = dead(50);
    expect([breakers.size, breakers.open]).toEqual([50, 50]);
    for (const key of keys(50)) expect(state(key)).toEqual(openFor(30 * SECOND));
  });

  it('are all probed when their time is over', () => {
    const { breakers, state, changes } = dead(50);
    pass(30 * SECOND - 1);
    expect(breakers.open).toBe(50);
    pass(1_001);
    expect(breakers.open).toBe(0);
    for (const key of keys(50)) expect(state(key)).toEqual({ kind: 'probing', limit: 1 });
    expect(changes).toHaveLength(100);
  });

  it('close, or open for longer, each by its own results', () => {
    const { breakers, report, state } = dead(50);
    pass(31 * SECOND);
    report('f', 'https://0.example:443');
    expect(state('https://0.example:443')).toEqual(openFor(60 * SECOND, 2));
    for (const key of keys(50).slice(1)) report('s', key);
    report('ss', 'https://49.example:443');
    expect(state('https://49.example:443')).toEqual({ kind: 'probing', limit: 4 });
    report('ssssssssssss', 'https://49.example:443');
    expect(state('https://49.example:443')).toEqual({ kind: 'closed' });
    expect([breakers.size, breakers.open]).toEqual([50, 1]);
  });

  it('ignore results of attempts that began before they opened', () => {
    const { breakers, report, state } = observeBreakers();
    const slow = breakers.ticket;
    report('fffff');
    report('f', 'https://b.example:443');
    breakers.report(A, slow, 'success', now());
    expect(state().kind).toBe('open');
    pass(31 * SECOND);
    breakers.report(A, slow, 'success', now());
    expect(state()).toEqual({ kind: 'probing', limit: 1 });
  });

  it('are forgotten when there are too many, the oldest first, and each is reported as closed', () => {
    const { breakers, state, changes } = dead(50, 30);
    expect([breakers.size, breakers.open, breakers.forgotten]).toEqual([30, 30, 20]);
    expect(state('https://0.example:443')).toEqual({ kind: 'closed' });
    expect(changes).toContainEqual(['https://0.example:443', { kind: 'closed' }]);
    pass(31 * SECOND);
    expect(breakers.open).toBe(0);
    expect(state('https://0.example:443')).toEqual({ kind: 'closed' });
  });

  it('are forgotten in this order: closed ones, then open ones', () => {
    const { breakers, report, state, changes } = observeBreakers({ maxBreakers: 3 });
    report('fffff');
    for (const key of keys(10)) report('f', key);
    expect([breakers.size, breakers.forgotten]).toEqual([3, 8]);
    expect(state().kind).toBe('open');
    expect(changes).toHaveLength(1);
  });
});
