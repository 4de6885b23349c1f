import { describe, expect, it } from 'vitest';
import { STORES, isForgetful, limitSchedule } from '../src/faults/limit-changes.ts';
import { randomFrom } from '@runledger/testing/random-source';
import { FULL, SMALL } from '../src/size.ts';

describe('the changes of limits', () => {
  const changes = limitSchedule(randomFrom(7), FULL, true);

  it('are the same for the same seed', () => {
    expect(limitSchedule(randomFrom(7), FULL, true)).toEqual(changes);
    expect(limitSchedule(randomFrom(8), FULL, true)).not.toEqual(changes);
  });

  it('come one after the other, within the time of the soak', () => {
    for (const [at, change] of changes.entries())
      expect(change.at).toBeGreaterThanOrEqual((changes[at - 1]?.at ?? 0) + (changes[at - 1]?.forMs ?? 0));
    expect(changes.at(-1)?.at).toBeLessThan(FULL.minutes * 60_000);
  });

  it('fill every store, and leave the log with room for accepted runs once', () => {
    const full = changes.filter(({ kind }) => kind === 'full').map(({ store }) => store);
    expect(new Set(full)).toEqual(new Set(STORES));
    expect(changes).toContainEqual(expect.objectContaining({ store: 'RUNS', kind: 'nearly_full' }));
  });

  it('make the log forget once, when there is something to forget', () => {
    const forgetful = changes.filter(({ kind }) => kind === 'forgetful');
    expect(forgetful).toMatchObject([{ store: 'RUNS' }]);
    expect(forgetful[0]?.at).toBeGreaterThan(FULL.shortLogAgeMs);
    const small = limitSchedule(randomFrom(1), SMALL, true);
    expect(small.find(({ kind }) => kind === 'forgetful')?.at).toBeGreaterThan(SMALL.shortLogAgeMs);
  });

  it('make no log forget with an even seed', () => {
    expect([1, 2, 3, 4].map(isForgetful)).toEqual([true, false, true, false]);
    const kinds = limitSchedule(randomFrom(7), FULL, false).map(({ kind }) => kind);
    expect(kinds).not.toContain('forgetful');
  });
});
