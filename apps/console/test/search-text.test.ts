import { describe, expect, it } from 'vitest';
import { searchIn, stoppedAt } from '../src/runs/search-text.ts';

describe('a search', () => {
  it.each([
    [' red fox ', 'red fox'],
    [4711, '4711'],
    [true, 'true'],
    ['  ', undefined],
    ['', undefined],
    [undefined, undefined],
    [['a'], undefined],
    ['x'.repeat(300), 'x'.repeat(200)],
    ['😀'.repeat(300), '😀'.repeat(200)],
  ])('written as %j is %j', (value, search) => expect(searchIn(value)).toBe(search));

  const page = { rows: [1, 2], next: 'cursor', searchedTo: '2026-01-31T09:30:00.000Z', size: 3 };

  it('has stopped where a page ends that is not full', () => {
    expect(stoppedAt(page)).toBe(page.searchedTo);
    expect(stoppedAt({ ...page, rows: [] })).toBe(page.searchedTo);
  });

  it('has not stopped at a full page, nor where all was looked at', () => {
    expect(stoppedAt({ ...page, size: 2 })).toBeUndefined();
    expect(stoppedAt({ ...page, next: null, searchedTo: null })).toBeUndefined();
    expect(stoppedAt({ ...page, searchedTo: null })).toBeUndefined();
  });
});
