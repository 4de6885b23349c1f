import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { relativeTime } from '../../src/command/screen.ts';

const NOW = Date.parse('2026-05-01T12:00:00.000Z');

describe('a time for a person', () => {
  it.each([
    ['2026-05-01T11:59:57.000Z', 'now'],
    ['2026-05-01T12:00:04.000Z', 'now'],
    ['2026-05-01T11:59:50.000Z', '10 seconds ago'],
    ['2026-05-01T11:59:00.000Z', '1 minute ago'],
    ['2026-05-01T11:57:01.000Z', '2 minutes ago'],
    ['2026-05-01T14:00:00.000Z', 'in 2 hours'],
    ['2026-04-29T12:00:00.000Z', '2 days ago'],
    ['2027-06-01T00:00:00.000Z', 'in 1 year'],
    ['never', 'never'],
    ['2026-99-99T00:00:00Z', '2026-99-99T00:00:00Z'],
  ])('%s is %s', (time, words) => {
    expect(relativeTime(time, NOW)).toBe(words);
  });

  it('fits its column, at any time of a century', () => {
    fc.assert(
      fc.property(fc.integer({ min: -3e12, max: 3e12 }), (ms) => {
        expect(relativeTime(new Date(NOW + ms).toISOString(), NOW).length).toBeLessThanOrEqual(14);
      }),
    );
  });
});
