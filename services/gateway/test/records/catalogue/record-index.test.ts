import fc from 'fast-check';
import { expect, it } from 'vitest';
import { recordIndex, recentOrganisations } from '../../../src/records/catalogue/known-records.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const entry = fc.record({ id, sortKey: fc.constantFrom('1', '2', '3', '4'), archived: fc.boolean() });
const byPlace = (entries: Iterable<{ sortKey: string; id: string }>) =>
  Array.from(entries, ({ sortKey, id: name }) => ({ sortKey: `${sortKey}.${name}`, id: name })).sort((a, b) =>
    a.sortKey < b.sortKey ? 1 : -1,
  );

it('keeps an index in the order of sort keys, through any changes', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(entry, { selector: (one) => one.id }),
      fc.array(fc.oneof(entry, id)),
      (begin, changes) => {
        const placed = (one: (typeof begin)[number]) => ({ ...one, sortKey: `${one.sortKey}.${one.id}` });
        const index = recordIndex(begin.map(placed));
        const expected = new Map(begin.map((one) => [one.id, one]));
        for (const change of changes) {
          if (typeof change === 'string') {
            index.delete(change);
            expected.delete(change);
          } else {
            index.set(placed(change));
            expected.set(change.id, change);
          }
        }
        expect(index.newestFirst).toMatchObject(byPlace(expected.values()));
        expect(index.newestFirst).toHaveLength(expected.size);
      },
    ),
  );
});

it('forgets the least recently used organisations when all records together are too many', () => {
  const sizes: Record<string, number> = { small: 1, large: 900, other: 300 };
  const made: string[] = [];
  const recent = recentOrganisations(1_000, (org) => {
    made.push(org);
    return { size: () => sizes[org] ?? 0 };
  });
  const use = (...orgs: string[]): string[] => {
    made.length = 0;
    for (const org of orgs) recent.of(org);
    return [...made];
  };
  expect(use('large', 'small', 'large', 'small')).toEqual(['large', 'small']);
  expect(use('other', 'small', 'large')).toEqual(['other', 'large']);
  expect(use('small', 'other')).toEqual(['other']);
  sizes['small'] = 5_000;
  expect(use('small', 'small', 'other')).toEqual(['other']);
  recent.forgetAll();
  expect(use('other')).toEqual(['other']);
});
