import { describe, expect, it } from 'vitest';
import { fillOf } from '../src/ui/fill.ts';

describe('how full something is', () => {
  it('is unknown without a limit', () => expect(fillOf(5, null)).toBeNull());

  it('is 100 percent only when it is full', () => {
    expect(fillOf(999, 1_000)).toEqual({ percent: 99, level: 'high' });
    expect(fillOf(1_000, 1_000)).toEqual({ percent: 100, level: 'full' });
    expect(fillOf(1_500, 1_000)).toEqual({ percent: 150, level: 'full' });
  });

  it('is plenty below four fifths', () => {
    expect(fillOf(799, 1_000)).toEqual({ percent: 79, level: 'plenty' });
    expect(fillOf(800, 1_000)).toEqual({ percent: 80, level: 'high' });
  });

  it('is full with a limit of nothing', () => expect(fillOf(0, 0)).toEqual({ percent: 100, level: 'full' }));
});
