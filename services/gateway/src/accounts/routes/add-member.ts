import type { Role } from '@runledger/contracts/accounts/roles';
import type { AuditActor } from '@runledger/contracts/audit/audit-record';
import type { Context } from 'koa';
import { networkOf } from '../../audit/core/network-of.ts';
import type { Visitor } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';
import type { Memberships } from '../membership.ts';
import type { Person } from '../people.ts';
import type { AccountRoutes } from './account-routes.ts';
import { memberIn } from './member-routes.ts';

export interface AddedMember {
  readonly org_id: string;
  readonly person: Person;
  readonly role: Role;
  readonly operator: boolean;
}

/** Makes a person a member, and records it, with the invitation that it accepts. @throws {Refused} when the organisation has too many @throws {AuditNotStored} */
export const addMember = async (
  { accounts: { memberships }, record }: Pick<AccountRoutes, 'accounts' | 'record'>,
  { org_id, ...member }: AddedMember,
  { ctx, visitor }: { readonly ctx: Context; readonly visitor: Visitor },
  accepted?: {
    readonly action: 'invitation.accepted';
    readonly id: string;
  } & NonNullable<Parameters<Memberships['add']>[2]>,
): Promise<void> => {
  // Who sends the request is known only by the link that it has.
  const actor: AuditActor = { kind: 'unknown', network: networkOf(visitor.address ?? undefined) };
  const shared = { org_id, actor, request_id: requestOf(ctx).request_id };
  const { person, role, operator } = member;
  const add = (): Promise<unknown> =>
    record(
      {
        ...shared,
        action: 'member.added',
        target: { kind: 'member', id: person.id },
        details: { role, operator },
      },
      async () => memberIn(await memberships.add(org_id, member, accepted)),
    );
  if (accepted === undefined) await add();
  else
    await record(
      {
        ...shared,
        action: accepted.action,
        target: { kind: 'invitation', id: accepted.id },
        details: { user_id: person.id },
      },
      add,
    );
};
