import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Context } from 'koa';
import { networkOf } from '../../audit/core/network-of.ts';
import type { Visitor } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';
import { Refused } from '../../http/refusal.ts';
import { decideSignIn, type SignInDecision } from '../oidc/core/decide-sign-in.ts';
import type { Identity } from '../oidc/core/identity.ts';
import { otherIdentity } from '../oidc/provider-refusals.ts';
import type { Person } from '../people.ts';
import { nameOf } from '../sign-in-links.ts';
import type { Invitation } from '../store/invitation-records.ts';
import { acceptInvitation, invitationOf, refuseClosed, type Accepting } from './accept-invitation.ts';
import type { AccountRoutes } from './account-routes.ts';
import type { SignedIn } from './begin-session.ts';
import { sessionOf } from './session-of.ts';

interface By {
  readonly ctx: Context;
  readonly visitor: Visitor;
}

/**
 * Whom an identity of the provider signs in, and where. The first time it becomes that of the person with its verified e-mail; with the
 * token of an invitation the person becomes a member, as with a password. @throws {Refused} @throws {AuditNotStored} @throws {LogUnavailable}
 */
export const signInAs = async (
  options: AccountRoutes,
  by: By,
  identity: Identity,
  token: string | undefined,
): Promise<Pick<SignedIn, 'person' | 'org_id'>> => {
  const entry = token === undefined ? undefined : await invitationOf(options, token);
  const decision = await decide(options, by, identity, entry?.value);
  if (entry !== undefined) refuseClosed(entry.value, personOf(decision), options.now());
  const accepting = await carryOut(options, by, { identity, decision, org_id: entry?.value.org_id });
  if (entry !== undefined) await acceptInvitation(options, entry, accepting, by);
  return { person: accepting.person, org_id: entry?.value.org_id };
};

type Decided = Exclude<SignInDecision<Person>, { readonly kind: 'refused' }>;

const personOf = (decision: Decided): Person | undefined =>
  decision.kind === 'create' ? undefined : decision.person;

const decide = async (
  { accounts }: AccountRoutes,
  { visitor }: By,
  identity: Identity,
  invitation: Entry<Invitation>['value'] | undefined,
): Promise<Decided> => {
  const { people, memberships, identities } = accounts;
  const { email } = identity;
  const [linked, person, session] = await Promise.all([
    identities.personOf(identity),
    email === undefined ? undefined : people.findByEmail(email),
    sessionOf({ accounts }, visitor),
  ]);
  const isMember = person !== undefined && (await memberships.of(person.id)).length > 0;
  const owner = person && { person, isMember };
  const decision = decideSignIn({ identity, linked, owner, invitation, signedIn: session?.user_id });
  if (decision.kind === 'refused') throw new Refused({ code: decision.why, why: WHY[decision.why] });
  return decision;
};

interface CarryOut {
  readonly identity: Identity;
  readonly decision: Decided;
  /** Of the invitation. */
  readonly org_id: string | undefined;
}

const carryOut = async (options: AccountRoutes, by: By, order: CarryOut): Promise<Accepting> => {
  const { identity, decision, org_id } = order;
  switch (decision.kind) {
    case 'known':
      return { person: decision.person, isNew: false };
    case 'link':
      await link(options, by, { ...decision, identity, org_id });
      return { person: decision.person, isNew: false };
    case 'create': {
      const { people } = options.accounts;
      const person = await people.create(decision.email, identity.name ?? nameOf(decision.email));
      // Somebody else accepts the invitation at this moment.
      if (person === undefined) throw otherIdentity();
      await link(options, by, { person, keepsPassword: true, identity, org_id });
      return { person, isNew: true };
    }
  }
};

interface Link extends Pick<CarryOut, 'identity' | 'org_id'> {
  readonly person: Person;
  readonly keepsPassword: boolean;
}

/** Whoever chose the password, and has sessions with it, may not be the person: an account does not verify its e-mail, and the provider did. */
const link = async (options: AccountRoutes, { ctx, visitor }: By, order: Link): Promise<void> => {
  const { accounts, record } = options;
  const { people, sessions, identities, memberships } = accounts;
  const { person, identity, keepsPassword } = order;
  const removes_password = !keepsPassword && (await people.hasPassword(person.id));
  await record(
    {
      action: 'identity.linked',
      org_id: order.org_id ?? (await memberships.of(person.id))[0]?.id ?? null,
      actor: { kind: 'unknown', network: networkOf(visitor.address ?? undefined) },
      target: { kind: 'identity', id: person.id },
      request_id: requestOf(ctx).request_id,
      details: { removes_password },
    },
    async () => {
      const isLinked = await identities.link(person.id, identity, async () => {
        if (keepsPassword) return;
        await people.removePassword(person.id);
        await sessions.endOthers(person.id, undefined);
      });
      if (!isLinked) throw otherIdentity();
    },
  );
};

const WHY = {
  email_not_verified:
    'The provider does not say that it has verified your e-mail, so nobody knows which account is yours. Verify it there, or sign in with a password or a link',
  person_unknown:
    'Nobody with your e-mail is a member of an organisation here. Ask an owner of the organisation for an invitation, and open its link',
  invitation_for_another:
    'This invitation is for another e-mail than yours at the provider. Sign in there with the account that is invited, or ask for another invitation',
} as const;
