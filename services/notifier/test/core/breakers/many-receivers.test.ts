import { queryObjects } from 'node:v8';
import CircuitBreaker from 'opossum';
import { describe, expect, it, vi } from 'vitest';
import { A, MINUTE, openFor, pass, SECOND, tryBreakers, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

const keys = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, nth) => `https://${nth}.example:443`);

const opossumBreakers = (): number => queryObjects(CircuitBreaker, { format: 'count' });

describe('of healthy receivers', () => {
  it('nothing is kept', async () => {
    const { breakers, tell } = tryBreakers();
    await tell('sssnn');
    expect(breakers.instances).toBe(0);
  });

  it('nothing is kept ten minutes after the last failure', async () => {
    const { breakers, tell } = tryBreakers();
    await tell('f');
    expect(breakers.instances).toBe(1);
    await pass(8 * MINUTE);
    await tell('s');
    expect(breakers.instances).toBe(1);
    await pass(2 * MINUTE);
    expect(breakers.instances).toBe(0);
  });

  it('nothing is left on the heap after 20,000 of them have failed once', async () => {
    const before = opossumBreakers();
    const { breakers } = tryBreakers();
    for (const key of keys(20_000)) {
      breakers.report(key, breakers.ticket(key), 'failure');
      breakers.report(key, breakers.ticket(key), 'success');
    }
    expect(breakers.instances).toBe(5_000);
    await pass(11 * MINUTE);
    expect(breakers.instances).toBe(0);
    expect(opossumBreakers()).toBe(before);
    expect(vi.getTimerCount()).toBe(1);
    breakers.close();
  });
});

describe('of more dead receivers than there may be opossum breakers', () => {
  const dead = async (count: number, most: number, mostDormant = 1_000) => {
    const tried = tryBreakers({ most, settings: { mostDormant } });
    for (const key of keys(count)) await tried.tell('fffff', key);
    return tried;
  };

  it('all are open, those open longest without one, and with one timer for them', async () => {
    const { breakers, state } = await dead(50, 10);
    expect([breakers.instances, breakers.open]).toEqual([10, 50]);
    for (const key of keys(50)) expect(state(key)).toEqual(openFor(30 * SECOND));
    // The window's, the sleepers', and one for each that has an opossum breaker.
    expect(vi.getTimerCount()).toBe(1 + 1 + 10);
  });

  it('all are probed when their time has come', async () => {
    const { breakers, state, changes } = await dead(50, 10);
    await pass(30 * SECOND - 1);
    expect(breakers.open).toBe(50);
    await pass(1_001);
    expect(breakers.open).toBe(0);
    for (const key of keys(50)) expect(state(key)).toEqual({ kind: 'probing', limit: 1 });
    expect(changes).toHaveLength(100);
  });

  it('each recovers, or opens for longer, as the others do', async () => {
    const { breakers, tell, state } = await dead(50, 10);
    await pass(31 * SECOND);
    await tell('f', 'https://0.example:443');
    expect(state('https://0.example:443')).toEqual(openFor(60 * SECOND, 2));
    for (const key of keys(50).slice(1)) await tell('s', key);
    expect(breakers.instances).toBe(10);
    await tell('ss', 'https://49.example:443');
    expect(state('https://49.example:443')).toEqual({ kind: 'probing', limit: 4 });
    await tell('ssssssssssss', 'https://49.example:443');
    expect(state('https://49.example:443')).toEqual({ kind: 'closed' });
    expect(breakers.instances).toBe(10);
  });

  it('one that loses its opossum breaker while it recovers begins with one probe again', async () => {
    const { tell, state, changes } = tryBreakers({ most: 1 });
    await tell('fffff');
    await pass(30 * SECOND);
    await tell('s');
    await tell('f', 'https://b.example:443');
    expect(state()).toEqual({ kind: 'probing', limit: 1 });
    expect(changes.at(-1)).toEqual([A, { kind: 'probing', limit: 1 }]);
    await tell('s');
    expect(state()).toEqual({ kind: 'probing', limit: 2 });
  });

  it('late results move a sleeping one as little as any other', async () => {
    const { breakers, tell, state } = tryBreakers({ most: 1 });
    const slow = breakers.ticket(A);
    await tell('fffff');
    await tell('f', 'https://b.example:443');
    breakers.report(A, slow, 'success');
    expect(state().kind).toBe('open');
    await pass(31 * SECOND);
    breakers.report(A, slow, 'success');
    expect(state()).toEqual({ kind: 'probing', limit: 1 });
  });

  it('the oldest is forgotten when even the sleeping are too many, and is told to be closed', async () => {
    const { breakers, state, changes } = await dead(50, 10, 20);
    expect([breakers.instances, breakers.open, breakers.forgotten]).toEqual([10, 30, 20]);
    expect(state('https://0.example:443')).toEqual({ kind: 'closed' });
    expect(changes).toContainEqual(['https://0.example:443', { kind: 'closed' }]);
    await pass(31 * SECOND);
    expect(breakers.open).toBe(0);
    expect(state('https://0.example:443')).toEqual({ kind: 'closed' });
  });
});

describe('close', () => {
  it('leaves no timer, of open, sleeping, probed or failing receivers', async () => {
    const { breakers, tell, state, changes } = tryBreakers({ most: 3 });
    for (const key of keys(3)) await tell('fffff', key);
    await pass(30 * SECOND);
    for (const key of keys(10)) await tell('fffff', key);
    await tell('f');
    const told = changes.length;
    breakers.close();
    expect([vi.getTimerCount(), breakers.open, breakers.instances]).toEqual([0, 0, 0]);
    await tell('fffff');
    breakers.restore(A, { opens: 1, until: Date.now() + 1_000 });
    expect(vi.getTimerCount()).toBe(0);
    expect(state()).toEqual({ kind: 'closed' });
    expect(changes).toHaveLength(told);
  });
});
