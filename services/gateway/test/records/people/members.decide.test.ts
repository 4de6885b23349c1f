import type { Role } from '@runledger/contracts/catalogue/records';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MOST_MEMBERS,
  withChangedMember,
  withMember,
  withoutMember,
  type Member,
  type MembersResult,
} from '../../../src/records/people/member-records.ts';

const role = fc.constantFrom<Role>('owner', 'developer', 'viewer');
const person = fc.constantFrom('a', 'b', 'c', 'd');
const aMember = (user_id: string, of: Role): Member => ({
  user_id,
  email: `${user_id}@example.com`,
  name: user_id,
  role: of,
  operator: false,
  since: '2026-01-01T00:00:00.000Z',
});
const change = fc.oneof(
  fc.record({ do: fc.constant('add' as const), person, role }),
  fc.record({ do: fc.constant('change' as const), person, role }),
  fc.record({ do: fc.constant('remove' as const), person, role }),
);

describe('the members of an organisation', () => {
  it('include an owner and name nobody twice, whatever is done to them', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        let members: readonly Member[] = [aMember('a', 'owner')];
        for (const { do: what, person: id, role: of } of changes) {
          const results: Readonly<Record<typeof what, () => MembersResult>> = {
            add: () => withMember(members, aMember(id, of)),
            change: () => withChangedMember(members, id, { role: of }),
            remove: () => withoutMember(members, id),
          };
          const result = results[what]();
          if (result.kind === 'changed') members = result.members;
          expect(members.some((one) => one.role === 'owner')).toBe(true);
          expect(new Set(members.map(({ user_id }) => user_id)).size).toBe(members.length);
        }
      }),
    );
  });

  it('keep the higher role of one who is added again', () => {
    const members = [aMember('a', 'owner'), aMember('b', 'developer')];
    for (const [added, kept] of [
      ['viewer', 'developer'],
      ['owner', 'owner'],
    ] as const) {
      const result = withMember(members, { ...aMember('b', added), operator: true });
      expect(result).toMatchObject({ kind: 'changed', member: { role: kept, operator: true } });
    }
  });

  it('are two hundred at most', () => {
    const members = Array.from({ length: MOST_MEMBERS }, (_none, index) => aMember(String(index), 'owner'));
    expect(withMember(members, aMember('new', 'viewer'))).toEqual({ kind: 'too_many', most: MOST_MEMBERS });
    expect(withMember(members, aMember('0', 'viewer')).kind).toBe('changed');
  });
});
