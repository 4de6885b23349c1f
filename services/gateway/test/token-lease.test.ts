import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openTokenLease, type TokenLease } from '../src/token-lease.ts';

/** A count that gateways take the next numbers from, and take back those that were not used if nothing was taken since. */
const aCount = () => {
  let now = 0;
  let next = 1;
  let revision = 0;
  const openGateway = () => {
    let end = 1;
    let seen = -1;
    const lease: TokenLease = openTokenLease({
      maxSize: 128,
      clock: () => now,
      take: async (wanted) => {
        const taken = wanted();
        next += taken;
        end = next;
        revision += 1;
        seen = revision;
        return taken;
      },
      giveBack: async (left) => {
        if (seen !== revision) return;
        next = end - left;
        revision += 1;
      },
      later: () => undefined,
    });
    return {
      giveBack: lease.giveBack,
      number: async () => {
        while (!lease.spend()) await lease.refill();
        return end - lease.left() - 1;
      },
    };
  };
  return {
    openGateway,
    writes: () => revision,
    pass: (ms: number) => {
      now += ms;
    },
  };
};

interface Step {
  readonly gateway: number;
  readonly what: 'run' | 'runs' | 'return' | 'kill';
  readonly afterMs: number;
}

/** What a gateway does next, and how long after what was done before. */
const step: fc.Arbitrary<Step> = fc.record({
  gateway: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom(...(['run', 'run', 'run', 'runs', 'return', 'kill'] as const)),
  afterMs: fc.constantFrom(0, 1, 100, 600, 2_000),
});

describe('numbers that gateways take from one count', () => {
  it('are never used twice, and rise at each gateway, whatever is returned or lost', async () => {
    const property = async (steps: readonly Step[]) => {
      const count = aCount();
      const gateways = Array.from({ length: 3 }, () => ({ ...count.openGateway(), last: 0 }));
      const used = new Set<number>();
      for (const { gateway, what, afterMs } of steps) {
        count.pass(afterMs);
        const own = gateways[gateway];
        if (!own) throw new Error('There is no such gateway.');
        if (what === 'kill') Object.assign(own, count.openGateway());
        if (what === 'return') await own.giveBack();
        if (what !== 'run' && what !== 'runs') continue;
        const runs = Array.from({ length: what === 'runs' ? 20 : 1 }, () => own.number());
        for (const number of (await Promise.all(runs)).toSorted((one, other) => one - other)) {
          expect(used.has(number)).toBe(false);
          expect(number).toBeGreaterThan(own.last);
          used.add(number);
          own.last = number;
        }
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 200 }), property));
  });

  it('are taken one by one while runs come slowly, and many at once while they come quickly', async () => {
    const writesFor = async (runs: number, everyMs: number): Promise<number> => {
      const count = aCount();
      const gateway = count.openGateway();
      for (let run = 0; run < runs; run += 1) {
        await gateway.number();
        count.pass(everyMs);
      }
      return count.writes();
    };
    expect(await writesFor(10, 1_000)).toBe(10);
    expect(await writesFor(10_000, 1)).toBeLessThan(100);
  });
});
