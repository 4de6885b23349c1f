import { expect, it } from 'vitest';
import { descendantsOf } from '../src/organisation/descendants.ts';

const key = (id: string, parent_key_id: string | null) => ({ id, parent_key_id });

it('finds the keys below a key, also where the records have a circle', () => {
  const keys = [key('a', null), key('b', 'a'), key('c', 'b'), key('d', null), key('e', 'f'), key('f', 'e')];
  expect(descendantsOf('a', keys).map(({ id }) => id)).toEqual(['b', 'c']);
  expect(descendantsOf('d', keys)).toEqual([]);
  expect(descendantsOf('e', keys).map(({ id }) => id)).toEqual(['f', 'e']);
});
