import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Entry } from '../../src/streams/bucket.ts';
import { tableIndex, type Row } from '../../src/table/table-index.decide.ts';

interface Person {
  readonly email: string;
  readonly org: string | undefined;
  readonly created: string;
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const ORGS = ['x', 'y'] as const;
const change = fc.record({
  key,
  person: fc.option(
    fc.record({
      email: fc.constantFrom('1', '2', '3', '4', '5'),
      org: fc.constantFrom(...ORGS, undefined),
      created: fc.constantFrom('1', '2', '3', '4'),
    }),
  ),
});

const INDEXES = {
  email: ({ email }: Person) => email,
  org: ({ org }: Person) => org,
  any: ({ email, created }: Person) => [email, created],
};

/** The order of everything, without ties. */
const sortKey = ({ created, email }: Person): string => `${created}.${email}`;
const inOrder = (entries: Iterable<Entry<Person>>): Entry<Person>[] =>
  [...entries].sort((one, other) => (one.key < other.key ? 1 : -1));

it('an index has what a search through all records finds, after any changes', () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const index = tableIndex(sortKey, INDEXES);
      const expected = new Map<string, Row<Person>>();
      changes.forEach(({ key: name, person }, at) => {
        if (person === null) {
          index.delete(name);
          expected.delete(name);
        } else {
          const entry = { key: name, value: person, revision: at, changedAt: new Date(at), bytes: at };
          index.set(entry);
          expected.set(name, entry);
        }
        const all = [...expected.values()];
        expect(index.size).toBe(all.length);
        expect(index.bytes).toBe(all.reduce((sum, { bytes }) => sum + bytes, 0));
        expect(index.get(name)).toBe(expected.get(name));
        for (const org of ORGS)
          expect(inOrder(index.of('org', org))).toEqual(
            inOrder(all.filter(({ value }) => value.org === org)),
          );
        for (const wanted of ['1', '4', '5'])
          expect(inOrder(index.of('any', wanted))).toEqual(
            inOrder(all.filter(({ value }) => value.email === wanted || value.created === wanted)),
          );
        for (const { value } of all) expect(index.by('email', value.email)?.value.email).toBe(value.email);
        const sorted = index.newestFirst().map(({ value }) => sortKey(value));
        expect(sorted).toEqual(
          all
            .map(({ value }) => sortKey(value))
            .sort()
            .toReversed(),
        );
      });
    }),
    { numRuns: casesOf(200) },
  );
});

it('nothing is found by what a record had before a change', () => {
  const index = tableIndex(sortKey, INDEXES);
  const entry = (email: string, revision: number): Row<Person> => ({
    key: 'a',
    value: { email, org: 'x', created: '1' },
    revision,
    changedAt: new Date(0),
    bytes: 1,
  });
  index.set(entry('before', 1));
  index.set(entry('now', 2));
  expect(index.by('email', 'before')).toBeUndefined();
  expect(index.by('email', 'now')?.revision).toBe(2);
  index.delete('a');
  expect(index.of('org', 'x')).toEqual([]);
});
