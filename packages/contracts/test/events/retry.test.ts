import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorOf, MAX_RETRY_AFTER_S, RETRY_KINDS, retryAfterS } from '../../src/events/run-error.ts';

const crashed = errorOf('crashed', 'it is gone');

describe('another attempt', () => {
  it('follows an error that the deployment names, if it is retryable', () => {
    expect(retryAfterS(crashed, { attempt: 1, retry_on: ['crashed'] }, 1)).toBe(2);
    expect(retryAfterS(crashed, { attempt: 1, retry_on: ['program_exit'] }, 1)).toBeNull();
    expect(retryAfterS(crashed, { attempt: 1 }, 1)).toBeNull();
    expect(
      retryAfterS({ ...crashed, retryable: false }, { attempt: 1, retry_on: ['crashed'] }, 1),
    ).toBeNull();
    expect(RETRY_KINDS).not.toContain('invalid_inputs');
    expect(RETRY_KINDS).not.toContain('start_deadline');
  });

  it('comes twice as late each time, varied by half of it, within a bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, random) => {
          const longest = Math.min(2 ** attempt, MAX_RETRY_AFTER_S);
          const after = retryAfterS(crashed, { attempt, retry_on: ['crashed'] }, random) ?? 0;
          expect(after).toBeGreaterThanOrEqual(longest / 2);
          expect(after).toBeLessThanOrEqual(longest);
        },
      ),
    );
  });
});
