import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FEWEST_TOGETHER,
  MOST_BYTES_TOGETHER,
  MOST_SINGLY,
  MOST_TOGETHER,
  nextAppends,
  type WaitingAppend,
} from '../../src/append/next-appends.decide.ts';

const appendsOf = (count: number): readonly WaitingAppend[] =>
  Array.from({ length: count }, (_, index) => ({ chain: `chain-${index}`, bytes: 1_000 }));

/** Some of them to the same chains, and some large ones. */
const waitingAppends: fc.Arbitrary<readonly WaitingAppend[]> = fc
  .tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 0, max: 400 }))
  .chain(([chains, count]) =>
    fc.array(
      fc.record({
        chain: fc.integer({ min: 1, max: chains }).map(String),
        bytes: fc.integer({ min: 1, max: 100_000 }),
      }),
      { minLength: count, maxLength: count },
    ),
  );
const inFlight = fc.record({ singly: fc.integer({ min: 0, max: 100 }), isBatch: fc.boolean() });

const NONE = { singly: 0, isBatch: false };

describe('what is sent next', () => {
  it('is each append at once while few are in flight', () => {
    const waiting = appendsOf(MOST_SINGLY - 1);
    expect(nextAppends(waiting, NONE)).toEqual({ singly: waiting, together: [], waiting: [] });
  });

  it('is nothing while many are in flight and few wait', () => {
    const waiting = appendsOf(FEWEST_TOGETHER - 1);
    const next = nextAppends(waiting, { singly: MOST_SINGLY, isBatch: false });
    expect(next).toEqual({ singly: [], together: [], waiting });
  });

  it('is all that wait as one batch, when they are enough', () => {
    const waiting = appendsOf(FEWEST_TOGETHER);
    const next = nextAppends(waiting, { singly: MOST_SINGLY, isBatch: false });
    expect(next).toEqual({ singly: [], together: waiting, waiting: [] });
  });

  it('is nothing while a batch is in flight, however many wait', () => {
    const waiting = appendsOf(1_000);
    expect(nextAppends(waiting, { singly: 0, isBatch: true })).toEqual({ singly: [], together: [], waiting });
  });

  it('is one by one what belongs to too few chains for a batch', () => {
    const waiting = appendsOf(100).map((append) => ({ ...append, chain: 'one' }));
    const next = nextAppends(waiting, NONE);
    expect(next.singly).toHaveLength(MOST_SINGLY);
    expect(next.together).toEqual([]);
  });

  it('has every append exactly once, in its order', () => {
    fc.assert(
      fc.property(waitingAppends, inFlight, (waiting, flying) => {
        const next = nextAppends(waiting, flying);
        const order = new Map(waiting.map((append, index) => [append, index]));
        for (const part of [next.singly, next.together, next.waiting]) {
          const places = part.map((append) => order.get(append) ?? Number.NaN);
          expect(places).toEqual(places.toSorted((one, other) => one - other));
        }
        const all = [...next.singly, ...next.together, ...next.waiting];
        expect(all).toHaveLength(waiting.length);
        expect(new Set(all)).toEqual(new Set(waiting));
      }),
    );
  });

  it('has in a batch one append of each chain, and neither too few, too many nor too large ones', () => {
    fc.assert(
      fc.property(waitingAppends, inFlight, (waiting, flying) => {
        const { singly, together } = nextAppends(waiting, flying);
        if (together.length === 0) return;
        expect(flying.isBatch).toBe(false);
        expect(singly).toEqual([]);
        expect(new Set(together.map(({ chain }) => chain)).size).toBe(together.length);
        expect(together.length).toBeGreaterThanOrEqual(FEWEST_TOGETHER);
        expect(together.length).toBeLessThanOrEqual(MOST_TOGETHER);
        expect(together.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(MOST_BYTES_TOGETHER);
      }),
    );
  });

  it('keeps the order of each chain', () => {
    fc.assert(
      fc.property(waitingAppends, inFlight, (waiting, flying) => {
        const next = nextAppends(waiting, flying);
        const left = new Map(next.waiting.toReversed().map((append) => [append.chain, append]));
        const overtaken = [...next.singly, ...next.together].filter((sent) => {
          const first = left.get(sent.chain);
          return first !== undefined && waiting.indexOf(first) < waiting.indexOf(sent);
        });
        expect(overtaken).toEqual([]);
      }),
    );
  });

  it('is never nothing when nothing is in flight', () => {
    fc.assert(
      fc.property(waitingAppends, (waiting) => {
        const { singly, together } = nextAppends(waiting, NONE);
        expect(singly.length + together.length > 0).toBe(waiting.length > 0);
      }),
    );
  });
});
