import { scopesOfMember } from '@runledger/contracts/accounts/roles';
import { allows } from '@runledger/contracts/accounts/scopes';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { Type, type Static } from 'typebox';
import type { Member } from './members.ts';

const Uuid = Type.String({ format: 'uuid' });

/** Who gives access to others: a user of an organisation, with a key of it, or with a session. */
export const Maker = Type.Object({
  org_id: Uuid,
  user_id: Uuid,
  key_id: Type.Union([Uuid, Type.Null()]),
});
export type Maker = Static<typeof Maker>;

/** Whether a member who gave something with a session has a role that permits as much. What was made with a key is another question. */
export const isGivenBy = (members: readonly Member[], { user_id, key_id }: Maker, scope: KeyScope): boolean =>
  key_id !== null || members.some((one) => one.user_id === user_id && allows(scopesOfMember(one), scope));
