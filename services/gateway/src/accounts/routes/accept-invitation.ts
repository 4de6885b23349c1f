import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { isUuid } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Context } from 'koa';
import type { Visitor } from '../../http/operation.ts';
import { isOfLink, readLinkToken } from '../link-token.ts';
import type { Person } from '../people.ts';
import { isOpen, isRevoked, type Invitation } from '../store/invitation-records.ts';
import type { AccountRoutes } from './account-routes.ts';
import { addMember } from './add-member.ts';
import { invitationGone } from './member-routes.ts';

/** Somebody who has proved to be the one who is invited. */
export interface Accepting {
  readonly person: Person;
  /** The account was made just now. */
  readonly isNew: boolean;
}

/** Undefined for a token that belongs to no invitation, or to one of somebody who may not invite any more. */
export const findInvitation = async (
  { accounts: { invitations, mayStill } }: Pick<AccountRoutes, 'accounts'>,
  token: string,
): Promise<Entry<Invitation> | undefined> => {
  const read = readLinkToken(token);
  const [org_id = '', id = ''] = read?.names ?? [];
  const entry = isUuid(org_id) && isUuid(id) ? await invitations.find(org_id, id) : undefined;
  if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256)) return undefined;
  return (await mayStill(entry.value.made_by, scopeToInvite(entry.value))) ? entry : undefined;
};

/** @throws {Refused} for what `findInvitation` does not find */
export const invitationOf = async (
  options: Pick<AccountRoutes, 'accounts'>,
  token: string,
): Promise<Entry<Invitation>> => {
  const entry = await findInvitation(options, token);
  if (entry === undefined) throw invitationGone();
  return entry;
};

/** Into another organisation only operators invite. */
const scopeToInvite = ({ org_id, made_by }: Pick<Invitation, 'org_id' | 'made_by'>): KeyScope =>
  made_by.org_id === org_id ? 'admin' : 'operator';

/** An interrupted acceptance can be repeated by the same person, while it is open. @throws {Refused} for anybody else, and once it has ended */
export const refuseClosed = (
  invitation: Invitation,
  person: Pick<Person, 'id'> | undefined,
  now: Date,
): void => {
  const { accepted_by } = invitation;
  const isOfAnother = accepted_by !== undefined && accepted_by !== person?.id;
  if (isOfAnother || !isOpen(invitation, now)) throw invitationGone();
};

/** It is claimed first: of two people one accepts it, and an interrupted acceptance can be repeated. @throws {Refused} */
export const acceptInvitation = async (
  options: Pick<AccountRoutes, 'accounts' | 'record'>,
  entry: Entry<Invitation>,
  { person, isNew }: Accepting,
  by: { readonly ctx: Context; readonly visitor: Visitor },
): Promise<void> => {
  const { invitations, people, memberships, mayStill } = options.accounts;
  const { id, org_id, role, made_by } = entry.value;
  if (!(await invitations.claim(entry, person.id))) {
    if (isNew && (await memberships.of(person.id)).length === 0) await people.remove(person.id);
    throw invitationGone();
  }
  const as = { org_id, person, role, operator: false };
  const stands = async (): Promise<boolean> => {
    // It is gone when the same person has accepted it twice at once.
    const present = await invitations.find(org_id, id);
    return !(present && isRevoked(present.value)) && (await mayStill(made_by, scopeToInvite(entry.value)));
  };
  await addMember(options, as, by, { action: 'invitation.accepted', id, made_by, stands });
  await invitations.erase(org_id, id);
};
