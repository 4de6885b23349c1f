import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WINDOW_MS } from '../../../src/door/rate-limit.decide.ts';
import { gateways, type Gateways } from './gateways.ts';

interface Step {
  readonly gateway: number;
  readonly requests: number;
  /** Milliseconds since the step before. */
  readonly after: number;
  /** The gateway is lost with what it holds. */
  readonly kills: boolean;
}

interface Answered {
  readonly at: number;
  readonly allowed: number;
}

const step = (mostRequests: number): fc.Arbitrary<Step> =>
  fc.record({
    gateway: fc.nat({ max: 19 }),
    requests: fc.integer({ min: 1, max: mostRequests }),
    after: fc.oneof(
      fc.integer({ min: 0, max: 100 }),
      fc.integer({ min: 0, max: 1_500 }),
      fc.integer({ min: 0, max: 15_000 }),
    ),
    kills: fc.nat({ max: 9 }).map((chance) => chance === 0),
  });

const allowedOf = async (installed: Gateways, gateway: number, requests: number): Promise<number> => {
  let allowed = 0;
  for (let request = 0; request < requests; request += 1) {
    if ((await installed.ask(gateway)).allowed) allowed += 1;
  }
  return allowed;
};

describe('gateways that share a limit', () => {
  it('never allow more than the limit and the refilled tokens, while gateways crash', async () => {
    const property = async (limit: number, count: number, steps: readonly Step[]) => {
      const installed = gateways(limit, count);
      const answered: Answered[] = [];
      for (const { gateway, requests, after, kills } of steps) {
        installed.pass(after);
        answered.push({ at: installed.now(), allowed: await allowedOf(installed, gateway, requests) });
        if (kills) installed.kill(gateway % count);
      }
      const mostSince = (at: number, now: number) => limit + ((now - at) * limit) / WINDOW_MS + 1e-6;
      let sum = 0;
      for (const { at, allowed } of answered) {
        sum += allowed;
        expect(sum).toBeLessThanOrEqual(mostSince(0, at));
      }
      // From any moment on, they may also spend what they hold at that moment.
      const held = (count * limit) / 120;
      for (const [first, { at: from }] of answered.entries()) {
        let since = 0;
        for (const { at, allowed } of answered.slice(first)) {
          since += allowed;
          expect(since).toBeLessThanOrEqual(mostSince(from, at) + held);
        }
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_300 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(step(80), { minLength: 1, maxLength: 40 }),
        property,
      ),
      { numRuns: casesOf(20) },
    );
  });

  it('refuse no request of a key that uses at most nine tenths of its limit a minute, with up to ten gateways', async () => {
    const property = async (limit: number, count: number, steps: readonly Step[]) => {
      const installed = gateways(limit, count);
      const asked: Answered[] = [];
      for (const { gateway, requests, after } of steps) {
        installed.pass(after);
        const at = installed.now();
        const lately = asked
          .filter((one) => at - one.at < WINDOW_MS)
          .reduce((sum, one) => sum + one.allowed, 0);
        const within = Math.min(requests, Math.floor(limit * 0.9) - lately);
        asked.push({ at, allowed: within });
        expect(await allowedOf(installed, gateway, within)).toBe(within);
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 10, max: 1_300 }),
        fc.integer({ min: 1, max: 10 }),
        fc.array(step(200), { minLength: 10, maxLength: 60 }),
        property,
      ),
      { numRuns: casesOf(20) },
    );
  });

  const GATEWAYS = [1, 3, 5, 10, 20];
  const BURSTS: readonly (readonly [requests: number, everyMs: number])[] = [
    [1, 104],
    [25, 2_600],
    [100, 10_500],
    [200, 21_000],
    [540, 60_000],
  ];
  const table = GATEWAYS.flatMap((count) =>
    BURSTS.map(([requests, every]) => [count, requests, every] as const),
  );

  /** Half an hour of bursts; each request comes to a gateway by chance. */
  const refusedOf = async (installed: Gateways, count: number, requests: number, every: number) => {
    const bursts = Math.floor((30 * WINDOW_MS) / every);
    const chance = fc.noBias(fc.nat({ max: count - 1 }));
    let refused = 0;
    for (const gateway of fc.sample(chance, { numRuns: bursts * requests, seed: 21 }).entries()) {
      if (gateway[0] % requests === 0) installed.pass(every);
      if (!(await installed.ask(gateway[1])).allowed) refused += 1;
    }
    return refused / bursts;
  };

  it.each(table)(
    '(%i of them) with a limit of 600 refuse no request of bursts of %i every %i ms, with a few writes a second',
    async (count, requests, every) => {
      const installed = gateways(600, count);
      expect(await refusedOf(installed, count, requests, every)).toBe(0);
      expect(installed.writes() / (installed.now() / 1000) / count).toBeLessThan(3);
    },
  );

  it.each(GATEWAYS)(
    '(%i of them) refuse few requests of a burst as large as the limit: those whose tokens the others hold',
    async (count) => {
      const refused = await refusedOf(gateways(600, count), count, 600, 61_000);
      expect(refused).toBeLessThanOrEqual((count - 1) * 4);
      expect(refused).toBeLessThanOrEqual(0.03 * 600);
    },
  );

  it.each([2, 20])('allow all refilled tokens over a long time: %i gateways', async (count) => {
    const installed = gateways(600, count);
    let allowed = 0;
    // Twice as many as the limit, evenly: after the first burst what flows in is all there is.
    for (let request = 0; request < 20 * 600; request += 1) {
      installed.pass(WINDOW_MS / 1_200);
      const decision = await installed.ask(request);
      if (decision.allowed && request >= 10 * 600) allowed += 1;
    }
    expect(allowed).toBeGreaterThanOrEqual(0.98 * 5 * 600);
    expect(allowed).toBeLessThanOrEqual(5 * 600 + 30);
  });
});
