import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkOf, type Chunk } from '../../src/limits/chunk.ts';
import { rateHeaders } from '../../src/limits/rate-decision.ts';
import { take, WINDOW_MS, type Tokens } from '../../src/limits/token-bucket.ts';

/** So many gateways that share one bucket, in a time of their own. */
const gateways = (limit: number, count: number) => {
  let now = 0;
  let shared: Tokens | undefined;
  let taken = 0;
  const chunks = Array.from({ length: count }, () =>
    chunkOf({
      limit,
      clock: () => now,
      takeTokens: async (wanted) => {
        taken += 1;
        const answer = take(shared, now, limit, wanted);
        shared = answer.left;
        return answer;
      },
    }),
  );
  const ask = async (chunk: Chunk) => {
    for (;;) {
      const decision = chunk.decide();
      if (decision) return decision;
      await chunk.refill();
    }
  };
  return {
    ask: async (gateway: number) => {
      const chunk = chunks[gateway % count];
      if (!chunk) throw new Error('there is no gateway');
      return ask(chunk);
    },
    pass: (ms: number) => {
      now += ms;
    },
    taken: () => taken,
  };
};

describe('gateways that share a limit', () => {
  it('never let more through than the limit and what flows in, whoever is asked when', async () => {
    interface Step {
      readonly gateway: number;
      readonly requests: number;
      readonly after: number;
    }
    const step: fc.Arbitrary<Step> = fc.record({
      gateway: fc.nat({ max: 4 }),
      requests: fc.integer({ min: 1, max: 40 }),
      after: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 15_000 })),
    });
    const property = async (limit: number, count: number, steps: readonly Step[]) => {
      const installed = gateways(limit, count);
      let allowed = 0;
      let passed = 0;
      for (const { gateway, requests, after } of steps) {
        installed.pass(after);
        passed += after;
        for (let request = 0; request < requests; request += 1) {
          if ((await installed.ask(gateway)).allowed) allowed += 1;
        }
        expect(allowed).toBeLessThanOrEqual(limit + (passed * limit) / WINDOW_MS + 1e-6);
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 700 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { minLength: 1, maxLength: 30 }),
        property,
      ),
      { numRuns: 60 },
    );
  });

  it.each([1, 2, 3])('let nearly all of it through at once, %i of them', async (count) => {
    const installed = gateways(600, count);
    let allowed = 0;
    for (let request = 0; request < 2_000; request += 1) {
      if ((await installed.ask(request)).allowed) allowed += 1;
    }
    expect(allowed).toBeLessThanOrEqual(600);
    expect(allowed).toBeGreaterThanOrEqual(540);
    expect(installed.taken()).toBeLessThan(60);
  });

  it.each([2, 20])('let nearly all of what flows in through for long, %i of them', async (count) => {
    const installed = gateways(600, count);
    let allowed = 0;
    // Twice as many as the limit, evenly: after the first burst what flows in is all there is.
    for (let request = 0; request < 20 * 600; request += 1) {
      installed.pass(WINDOW_MS / 1_200);
      const decision = await installed.ask(request);
      if (decision.allowed && request >= 10 * 600) allowed += 1;
    }
    expect(allowed).toBeGreaterThanOrEqual(0.9 * 5 * 600);
    expect(allowed).toBeLessThanOrEqual(5 * 600 + 30);
  });

  it('leave little unspent where requests are rare', async () => {
    const installed = gateways(600, 1);
    for (let request = 0; request < 30; request += 1) {
      installed.pass(11_000);
      expect((await installed.ask(0)).remaining).toBeGreaterThanOrEqual(568);
    }
    expect((await installed.ask(0)).remaining).toBeGreaterThanOrEqual(597);
  });
});

describe('the answer about a limit', () => {
  it('tells what remains, and when all of it is back', async () => {
    const { ask } = gateways(600, 1);
    expect(await ask(0)).toEqual({ allowed: true, limit: 600, remaining: 599, resetS: 1 });
    for (let request = 0; request < 298; request += 1) await ask(0);
    expect(await ask(0)).toEqual({ allowed: true, limit: 600, remaining: 300, resetS: 30 });
  });

  it('tells a refused one when to come again', async () => {
    const installed = gateways(6, 1);
    for (let request = 0; request < 6; request += 1) expect((await installed.ask(0)).allowed).toBe(true);
    expect(await installed.ask(0)).toEqual({ allowed: false, limit: 6, remaining: 0, resetS: 10 });
    installed.pass(9_500);
    expect(await installed.ask(0)).toMatchObject({ allowed: false, resetS: 1 });
    installed.pass(500);
    expect(await installed.ask(0)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('is written as the draft says', () => {
    const decision = { allowed: true, limit: 600, remaining: 599, resetS: 1 };
    expect(rateHeaders(decision)).toEqual({
      'RateLimit-Policy': '"default";q=600;w=60',
      RateLimit: '"default";r=599;t=1',
    });
    expect(rateHeaders({ ...decision, allowed: false, remaining: 0, resetS: 7 })).toEqual({
      'RateLimit-Policy': '"default";q=600;w=60',
      RateLimit: '"default";r=0;t=7',
      'Retry-After': '7',
    });
    expect(rateHeaders(undefined)).toEqual({});
  });
});
