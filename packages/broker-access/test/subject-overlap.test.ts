import { describe, expect, it } from 'vitest';
import { subjectsOverlap } from '../src/broker-configuration.ts';

describe('two subjects', () => {
  it.each([
    ['a.b', 'a.b', true],
    ['a.b', 'a.c', false],
    ['a.*', 'a.b', true],
    ['a.*', '*.b', true],
    ['a.*', 'a.b.c', false],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['a.*.c', 'a.>', true],
    ['>', 'a', true],
  ])('%s and %s match a common subject: %s', (one, other, isCommon) => {
    expect([subjectsOverlap(one, other), subjectsOverlap(other, one)]).toEqual([isCommon, isCommon]);
  });
});
