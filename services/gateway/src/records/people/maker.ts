import { allows } from '@runledger/contracts/accounts/scopes';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { scopesOfMember } from '@runledger/contracts/accounts/roles';
import { Type, type Static } from 'typebox';
import { findValidKey } from '../keys/api-keys.ts';
import type { Caller } from '../../door/operation.ts';
import type { MemberRecords, Member } from './member-records.ts';

export const makerOf = ({ org_id, user_id, key, session }: Caller): Maker => ({
  org_id,
  user_id,
  key_id: session === undefined ? key.id : null,
});

export interface MakerOptions {
  readonly log: EventLog;
  readonly members: MemberRecords;
  readonly now: () => Date;
}

/** Whether somebody may still give what they gave: their key is valid, or they are a member whose role permits as much. @throws {LogUnavailable} */
export const mayStill = async (
  { log, members, now }: MakerOptions,
  maker: Maker,
  scope: KeyScope,
): Promise<boolean> => {
  const { org_id, key_id } = maker;
  if (key_id === null) return isGivenBy(await members.of(org_id), maker, scope);
  const key = await findValidKey(log, { org_id: orgId(org_id), id: key_id }, now);
  return key !== undefined && allows(key.scopes, scope);
};

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
