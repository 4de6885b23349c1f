import { isUuid } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Context } from 'koa';
import type { Visitor } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { isOfLink, readLinkToken } from '../link-token.ts';
import type { Person } from '../people.ts';
import { isOpen, type Invitation } from '../store/invitation-records.ts';
import type { AccountRoutes } from './account-routes.ts';
import { addMember } from './add-member.ts';

/** Somebody who has proved to be the one who is invited. */
export interface Accepting {
  readonly person: Person;
  /** The account was made just now. */
  readonly isNew: boolean;
}

/** @throws {Refused} for a token that belongs to no invitation */
export const invitationOf = async (
  { accounts: { invitations } }: Pick<AccountRoutes, 'accounts'>,
  token: string,
): Promise<Entry<Invitation>> => {
  const read = readLinkToken(token);
  const [org_id = '', id = ''] = read?.names ?? [];
  const entry = isUuid(org_id) && isUuid(id) ? await invitations.find(org_id, id) : undefined;
  if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256))
    throw invitationGone();
  return entry;
};

/** An interrupted acceptance can be repeated by the same person. @throws {Refused} for anybody else, and once it has ended */
export const refuseClosed = (
  invitation: Invitation,
  person: Pick<Person, 'id'> | undefined,
  now: Date,
): void => {
  const { accepted_by } = invitation;
  const isClaimed = accepted_by !== undefined;
  if (isClaimed ? accepted_by !== person?.id : !isOpen(invitation, now)) throw invitationGone();
};

/** It is claimed first: of two people one accepts it, and an interrupted acceptance can be repeated. @throws {Refused} */
export const acceptInvitation = async (
  options: Pick<AccountRoutes, 'accounts' | 'record'>,
  entry: Entry<Invitation>,
  { person, isNew }: Accepting,
  by: { readonly ctx: Context; readonly visitor: Visitor },
): Promise<void> => {
  const { invitations, people, memberships } = options.accounts;
  const { id, org_id, role } = entry.value;
  if (!(await invitations.claim(entry, person.id))) {
    if (isNew && (await memberships.of(person.id)).length === 0) await people.remove(person.id);
    throw invitationGone();
  }
  const as = { org_id, person, role, operator: false };
  await addMember(options, as, by, { action: 'invitation.accepted', id });
  await invitations.erase(org_id, id);
};

export const invitationGone = (): Refused =>
  new Refused({
    code: 'invitation_gone',
    why: 'This invitation was accepted, revoked, or has ended: it can be accepted once, within 7 days. Sign in if you accepted it; otherwise ask an owner of the organisation for another one',
  });
