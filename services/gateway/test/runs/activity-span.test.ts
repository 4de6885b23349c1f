import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { activitySpan, MAX_POINTS, type AskedSpan } from '../../src/runs/activity.ts';

const NOW = Date.UTC(2026, 0, 31, 9, 30, 20);
const nothing: AskedSpan = { since: undefined, until: undefined, step: undefined };
const at = (hours: number, minutes = 0): number => Date.UTC(2026, 0, 31, hours, minutes);

describe('the intervals of an activity', () => {
  it('are the minutes of the last hour, with the present one', () => {
    expect(activitySpan(nothing, NOW)).toEqual({
      kind: 'span',
      since: at(8, 30),
      until: at(9, 31),
      stepMs: 60_000,
    });
  });

  it('have no later end than now', () => {
    const span = activitySpan({ ...nothing, since: at(9), until: at(23), step: 600 }, NOW);
    expect(span).toMatchObject({ since: at(9), until: at(9, 40) });
  });

  it.each([
    [{ ...nothing, since: NOW }, 'since', 'before now'],
    [{ ...nothing, since: at(9), until: at(9) }, 'since', 'before `until`'],
    [{ ...nothing, since: at(0), step: 1 }, 'step', 'a `step` of at least 35'],
  ] as const)('are refused when there are none or too many: %o', (asked, name, words) => {
    expect(activitySpan(asked, NOW)).toMatchObject({
      kind: 'invalid',
      problems: [{ loc: ['query', name], msg: expect.stringContaining(words) }],
    });
  });

  it('cover the time that was asked for, in whole steps, and fit when no step is given', () => {
    const time = fc.integer({ min: 0, max: NOW + 1_000_000 });
    const step = fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: undefined });
    fc.assert(
      fc.property(time, time, step, (from, to, asked) => {
        const span = activitySpan({ since: from, until: to, step: asked }, NOW);
        expect(span.kind === 'span' || asked !== undefined || from >= Math.min(to, NOW)).toBe(true);
        if (span.kind === 'invalid') return;
        const points = (span.until - span.since) / span.stepMs;
        expect(Number.isInteger(points) && points >= 1 && points <= MAX_POINTS).toBe(true);
        expect(span.since <= from && span.until >= Math.min(to, NOW)).toBe(true);
        expect(span.since % span.stepMs).toBe(0);
      }),
    );
  });
});
