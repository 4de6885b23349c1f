import { describe, expect, it } from 'vitest';
import { readRange } from '../../../src/files/output-store.ts';

const part = (first: number, last: number) => ({ kind: 'part', span: { first, last } });

describe('a range of a file of 100 bytes', () => {
  it.each([
    [undefined, { kind: 'whole' }],
    ['bytes=0-0', part(0, 0)],
    ['bytes=0-', part(0, 99)],
    ['bytes=10-19', part(10, 19)],
    ['bytes=99-', part(99, 99)],
    ['bytes=50-1000', part(50, 99)],
    ['bytes=-1', part(99, 99)],
    ['bytes=-1000', part(0, 99)],
    ['Bytes= 1 - 2 ', part(1, 2)],
    ['bytes=100-', { kind: 'unsatisfiable' }],
    ['bytes=100-200', { kind: 'unsatisfiable' }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    ['bytes=2-1', { kind: 'whole' }],
    ['bytes=', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['lines=0-1', { kind: 'whole' }],
    ['bytes=a-b', { kind: 'whole' }],
    [`bytes=${'9'.repeat(40)}-`, { kind: 'whole' }],
  ])('%s', (header, range) => {
    expect(readRange(header, 100)).toEqual(range);
  });

  it('is unsatisfiable for an empty file', () => {
    expect(readRange('bytes=0-', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(readRange('bytes=-5', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(readRange(undefined, 0)).toEqual({ kind: 'whole' });
  });
});
