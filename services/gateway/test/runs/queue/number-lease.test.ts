import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  grown,
  NO_NUMBERS,
  returned,
  spend,
  taken,
  type NumberLease,
} from '../../../src/runs/facts/run-numbers.ts';

/** What a gateway does next, and how long after what was done before. */
const step = fc.record({
  gateway: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom('run', 'run', 'run', 'return', 'kill'),
  afterMs: fc.constantFrom(0, 1, 100, 600, 2_000),
});

describe('numbers that gateways take from one count', () => {
  it('are never used twice, and rise at each gateway, whatever is returned or lost', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let count = { next: 1, revision: 0 };
        const gateways = Array.from({ length: 3 }, () => ({ lease: NO_NUMBERS, revision: -1, last: 0 }));
        const used = new Set<number>();
        let now = 0;
        for (const { gateway, what, afterMs } of steps) {
          now += afterMs;
          const own = gateways[gateway];
          if (!own) throw new Error('There is no such gateway.');
          if (what === 'kill') Object.assign(own, { lease: NO_NUMBERS, revision: -1 });
          if (what === 'return') {
            // The count takes it only if nothing was written since.
            if (count.revision === own.revision)
              count = { next: own.lease.next, revision: count.revision + 1 };
            own.lease = returned(own.lease);
          }
          if (what !== 'run') continue;
          if (!spend(own.lease)) {
            own.lease = grown(own.lease, now);
            const first = count.next;
            count = { next: first + own.lease.size, revision: count.revision + 1 };
            own.revision = count.revision;
            own.lease = taken(own.lease, { first, end: count.next }, now);
          }
          const spent = spend(own.lease);
          if (!spent) throw new Error('Nothing was taken.');
          own.lease = spent.lease;
          expect(used.has(spent.number)).toBe(false);
          expect(spent.number).toBeGreaterThan(own.last);
          used.add(spent.number);
          own.last = spent.number;
        }
      }),
    );
  });

  it('are taken one by one while runs come slowly, and many at once while they come quickly', () => {
    const writesFor = (runs: number, everyMs: number): number => {
      let lease: NumberLease = NO_NUMBERS;
      let writes = 0;
      for (let run = 0; run < runs; run += 1) {
        const now = run * everyMs;
        if (!spend(lease)) {
          lease = taken(grown(lease, now), { first: 1, end: 1 + grown(lease, now).size }, now);
          writes += 1;
        }
        lease = spend(lease)?.lease ?? lease;
      }
      return writes;
    };
    expect(writesFor(10, 1_000)).toBe(10);
    expect(writesFor(10_000, 1)).toBeLessThan(100);
  });
});
