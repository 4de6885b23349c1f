import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../src/door/unknown-names.ts';

describe('the nearest name', () => {
  const known = ['status', 'deployment_id', 'limit', 'cursor', 'gpu'];
  it.each([
    ['stauts', 'status'],
    ['Status', 'status'],
    ['statu', 'status'],
    ['deploymentid', 'deployment_id'],
    ['deploymnet_ids', 'deployment_id'],
    ['gpus', 'gpu'],
    ['lmiit', 'limit'],
    ['page', undefined],
    ['', undefined],
    ['l', undefined],
    ['status'.repeat(1_000), undefined],
  ])('of %s is %s', (name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it('is the name itself when it is known, and otherwise none or one that is known', () =>
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 64 }), { minLength: 1 }),
        fc.nat(),
        (names, at) => {
          const name = names[at % names.length] ?? '';
          expect(nearestName(name, names)?.toLowerCase()).toBe(name.toLowerCase());
          expect([undefined, ...names]).toContain(nearestName(`${name}x`, names));
        },
      ),
    ));
});
