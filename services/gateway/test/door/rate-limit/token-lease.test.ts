import { describe, expect, it } from 'vitest';
import { rateHeaders, WINDOW_MS } from '../../../src/door/rate-limit.decide.ts';
import { gateways } from './gateways.ts';

describe('a token lease', () => {
  it('begins with one token, and doubles while it is spent quickly, up to half a second of the limit', async () => {
    const installed = gateways(6_000, 1);
    const takenUntil: number[] = [];
    for (let request = 0; request < 200; request += 1) {
      const before = installed.writes();
      await installed.ask(0);
      if (installed.writes() > before) takenUntil.push(request);
    }
    expect(takenUntil).toEqual([0, 1, 3, 7, 15, 31, 63, 113, 163]);
  });

  it('is returned after a second', async () => {
    const installed = gateways(600, 2);
    for (let request = 0; request < 100; request += 1) await installed.ask(1);
    const before = installed.shared();
    for (let request = 0; request < 4; request += 1) await installed.ask(0);
    expect(before - installed.shared()).toBe(7);
    // Ten a second flow in meanwhile.
    installed.pass(999);
    expect(installed.shared()).toBeCloseTo(before - 7 + 9.99);
    installed.pass(1);
    expect(installed.shared()).toBeCloseTo(before - 4 + 10 + 2);
  });

  it('is no larger than what was spent of the last one, when some of it was returned', async () => {
    const installed = gateways(6_000, 1);
    for (let request = 0; request < 20; request += 1) await installed.ask(0);
    installed.pass(5_000);
    const full = installed.shared();
    await installed.ask(0);
    expect(full - installed.shared()).toBe(5);
    installed.pass(5_000);
    await installed.ask(0);
    expect(full - installed.shared()).toBe(1);
  });

  it('holds enough for all waiting requests, when many come at once', async () => {
    const installed = gateways(600, 1);
    const decisions = await Promise.all(Array.from({ length: 700 }, () => installed.ask(0)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(600);
    expect(installed.writes()).toBeLessThanOrEqual(3);
  });

  it('is taken a few times a second, also while many requests are refused', async () => {
    const installed = gateways(60_000, 1);
    let allowed = 0;
    for (let ms = 0; ms < 2 * WINDOW_MS; ms += 1) {
      installed.pass(1);
      for (let request = 0; request < 2; request += 1) {
        if ((await installed.ask(0)).allowed) allowed += 1;
      }
    }
    // A full bucket and what flows into it: all of it is let through, although the gateway looks rarely.
    expect(allowed).toBeGreaterThanOrEqual(3 * 60_000 - 600);
    expect(installed.asked()).toBeLessThan(6 * 120);
  });
});

describe('a decision about a limit', () => {
  it('shows what remains, and when the limit is complete again', async () => {
    const installed = gateways(600, 1);
    expect(await installed.ask(0)).toEqual({ allowed: true, limit: 600, remaining: 599, resetS: 1 });
    for (let request = 0; request < 298; request += 1) await installed.ask(0);
    expect(await installed.ask(0)).toEqual({ allowed: true, limit: 600, remaining: 300, resetS: 30 });
  });

  it('shows when to repeat a refused request', async () => {
    const installed = gateways(6, 1);
    for (let request = 0; request < 6; request += 1) expect((await installed.ask(0)).allowed).toBe(true);
    expect(await installed.ask(0)).toEqual({ allowed: false, limit: 6, remaining: 0, resetS: 10 });
    installed.pass(9_500);
    expect(await installed.ask(0)).toMatchObject({ allowed: false, resetS: 1 });
    installed.pass(500);
    expect(await installed.ask(0)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('becomes the headers of the draft', () => {
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
