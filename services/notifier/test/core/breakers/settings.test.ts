import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { breakerSettings, openingMs } from '../../../src/core/breaker.ts';

const HOUR = 3_600_000;

it('a breaker is open for 30 s at first and for 15 min at most', () => {
  const settings = breakerSettings(72 * HOUR);
  expect([openingMs(settings, 1), openingMs(settings, 99)]).toEqual([30_000, 900_000]);
});

it('an origin that has come back is probed well within the time of a delivery, whatever that is', () => {
  const seconds = fc.integer({ min: 1, max: 30 * 86_400 });
  fc.assert(
    fc.property(seconds, fc.integer({ min: 1, max: 2_000 }), (giveUpS, opens) => {
      const open = openingMs(breakerSettings(giveUpS * 1_000), opens);
      expect(open).toBeGreaterThan(0);
      expect(open).toBeLessThanOrEqual((giveUpS * 1_000) / 10);
    }),
  );
});
