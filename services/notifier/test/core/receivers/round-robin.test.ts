import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoundRobin } from '../../../src/core/turns.ts';

const anyOrg = (): boolean => true;

const drain = (ring: RoundRobin<string>, may: (org: string) => boolean = anyOrg): string[] => {
  const queues: string[] = [];
  for (let queue = ring.next(may); queue !== undefined; queue = ring.next(may)) queues.push(queue);
  return queues;
};

const filled = (queues: Readonly<Record<string, readonly string[]>>): RoundRobin<string> => {
  const ring = new RoundRobin<string>();
  for (const [org, names] of Object.entries(queues)) for (const name of names) ring.add(org, name);
  return ring;
};

describe('round robin', () => {
  it('serves each organisation once before any twice', () => {
    const ring = filled({ a: ['a1', 'a2', 'a3', 'a4'], b: ['b1'], c: ['c1', 'c2'] });
    expect(drain(ring)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4']);
  });

  it('serves the queues of an organisation one after the other, and a queue that is added again last', () => {
    const ring = filled({ a: ['a1', 'a2', 'a3'] });
    const served = Array.from({ length: 6 }, () => {
      const queue = ring.next(anyOrg) ?? 'none';
      ring.add('a', queue);
      return queue;
    });
    expect(served).toEqual(['a1', 'a2', 'a3', 'a1', 'a2', 'a3']);
  });

  it('holds a queue once, however often it is added', () => {
    expect(drain(filled({ a: ['a1', 'a1', 'a1'] }))).toEqual(['a1']);
  });

  it('skips organisations that may not be served, and keeps their queues', () => {
    const ring = filled({ a: ['a1', 'a2'], b: ['b1', 'b2'] });
    expect(drain(ring, (org) => org !== 'a')).toEqual(['b1', 'b2']);
    expect(ring.next(() => false)).toBeUndefined();
    expect(drain(ring)).toEqual(['a1', 'a2']);
  });

  it('returns nothing while it is empty, and continues when it is filled again', () => {
    const ring = new RoundRobin<string>();
    expect(ring.next(anyOrg)).toBeUndefined();
    ring.add('a', 'a1');
    expect(drain(ring)).toEqual(['a1']);
    ring.add('a', 'a1');
    expect(drain(ring)).toEqual(['a1']);
  });

  it('returns every queue exactly once, and no organisation waits for more than one round', () => {
    const queue = fc.record({ org: fc.nat(5), name: fc.nat(30) });
    const step = fc.oneof(
      { weight: 2, arbitrary: queue },
      { weight: 1, arbitrary: fc.constant('next' as const) },
    );
    const always = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const ring = new RoundRobin<string>();
      const within = new Map<string, Set<string>>();
      /** How often others were served since it has had something. */
      const waits = new Map<string, number>();
      for (const one of steps) {
        if (one !== 'next') {
          const [org, name] = [`${one.org}`, `${one.org}/${one.name}`];
          within.set(org, (within.get(org) ?? new Set()).add(name));
          if (!waits.has(org)) waits.set(org, 0);
          ring.add(org, name);
          continue;
        }
        const served = ring.next(anyOrg);
        expect(served === undefined).toBe(within.size === 0);
        const [org = ''] = served?.split('/') ?? [];
        if (served === undefined) continue;
        expect(within.get(org)?.delete(served)).toBe(true);
        waits.delete(org);
        for (const [other, times] of waits) waits.set(other, times + 1);
        if (within.get(org)?.size === 0) within.delete(org);
        else waits.set(org, 0);
        expect(Math.max(0, ...waits.values())).toBeLessThanOrEqual(2 * 6);
      }
      expect(drain(ring).toSorted()).toEqual([...within.values()].flatMap((names) => [...names]).toSorted());
    });
    expect(() => fc.assert(always)).not.toThrow();
  });
});
