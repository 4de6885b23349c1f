import { allows } from '@runledger/contracts/accounts/scopes';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { findValidKey } from '../auth/api-keys.ts';
import type { Caller } from '../http/operation.ts';
import { isGivenBy, type Maker } from './core/maker.ts';
import type { MemberRecords } from './store/member-records.ts';

export const makerOf = ({ org_id, user_id, key, session }: Caller): Maker => ({
  org_id,
  user_id,
  key_id: session === undefined ? key.id : null,
});

export interface MakerOptions {
  readonly log: EventLog;
  readonly members: Pick<MemberRecords, 'of'>;
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
