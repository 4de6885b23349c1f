import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXECUTOR_NAME_PATTERN, executorToken, isExecutorId, isUuid, newUuid } from '../src/ids.ts';

/** Names in which the cut after 48 characters falls on anything. */
const names = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom('a', 'Z', '7', '_', '-', '.', ' ', 'ö'), { minLength: 60, maxLength: 100 })
    .map((of) => of.join('')),
);

describe('a new id', () => {
  it('is a UUID of version 7 that no other has, and sorts behind all that were made before', () => {
    const ids = Array.from({ length: 20_000 }, () => newUuid());
    expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(ids.toSorted());
  });
});

describe('the name of an executor in subjects', () => {
  it('is unchanged when it is converted again, for any name', () => {
    fc.assert(
      fc.property(names, (name) => {
        expect(executorToken(executorToken(name))).toBe(executorToken(name));
      }),
    );
  });

  it('is one token of at most 48 characters, and never "none"', () => {
    const token = new RegExp(EXECUTOR_NAME_PATTERN);
    fc.assert(
      fc.property(names, (name) => {
        expect(executorToken(name)).toMatch(token);
        expect(executorToken(name).length).toBeLessThanOrEqual(48);
      }),
    );
    expect(['none', '-none-', '', '...'].map(executorToken)).toEqual([
      'executor',
      'executor',
      'executor',
      'executor',
    ]);
  });

  it('does not end in a "-" after it was cut', () => {
    const host = `${'x'.repeat(47)}.cluster.example`;
    expect(executorToken(host)).toBe('x'.repeat(47));
  });

  it('is unchanged if the name is valid already', () => {
    expect(executorToken('gpu-box_1')).toBe('gpu-box_1');
    expect(executorToken('--gpu box.example--')).toBe('gpu-box-example');
  });
});

describe('the id of an executor', () => {
  it.each(['box.0a1b2c3d4e5f', 'gpu-box_1.x'])('is a name and a boot id: %s', (id) => {
    expect(isExecutorId(id)).toBe(true);
  });

  it.each(['box', 'none', 'box.', '.box', 'box.a.b', 'bö.x', `${'x'.repeat(64)}.x`])('is not %s', (id) => {
    expect(isExecutorId(id)).toBe(false);
  });
});
