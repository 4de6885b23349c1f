import { scopesOfMember } from '@runledger/contracts/accounts/roles';
import { allows } from '@runledger/contracts/accounts/scopes';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Type, type Static } from 'typebox';
import { findValidKey } from '../auth/api-keys.ts';
import type { Caller } from '../http/operation.ts';
import type { Member } from './core/members.ts';
import type { MemberRecords } from './store/member-records.ts';

const Uuid = Type.String({ format: 'uuid' });

/** Who gives access to others: a user, with a key, or with a session. */
export const Maker = Type.Object({ user_id: Uuid, key_id: Type.Union([Uuid, Type.Null()]) });
export type Maker = Static<typeof Maker>;

export const makerOf = ({ user_id, key, session }: Caller): Maker => ({
  user_id,
  key_id: session === undefined ? key.id : null,
});

export interface MakerOptions {
  readonly log: EventLog;
  readonly members: Pick<MemberRecords, 'of'>;
  readonly now: () => Date;
}

/** Whether a member who gave something with a session has a role that permits as much. What was made with a key is another question. */
export const isGivenBy = (members: readonly Member[], { user_id, key_id }: Maker, scope: KeyScope): boolean =>
  key_id !== null || members.some((one) => one.user_id === user_id && allows(scopesOfMember(one), scope));

/** Whether somebody may still give what they gave: their key is valid, or they are a member whose role permits as much. @throws {LogUnavailable} */
export const mayStill = async (
  { log, members, now }: MakerOptions,
  org_id: string,
  maker: Maker,
  scope: KeyScope,
): Promise<boolean> => {
  if (maker.key_id === null) return isGivenBy(await members.of(org_id), maker, scope);
  const key = await findValidKey(log, { org_id: orgId(org_id), id: maker.key_id }, now);
  return key !== undefined && allows(key.scopes, scope);
};
