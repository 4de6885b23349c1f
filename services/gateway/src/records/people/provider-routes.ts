import {
  ProviderAnswerRequest,
  ProviderSignInItem,
  ProviderSignInRequest,
} from '@runledger/contracts/http/accounts';
import type { Context } from 'koa';
import {
  openOperation,
  openRoute,
  requestOf,
  type Route,
  type PlainRoute,
  type Visitor,
} from '../../door/operation.ts';
import { Refused } from '../../door/refusal.ts';
import type { AccountOperations } from './accounts.ts';
import { beginSession, SESSION_BEGUN, sessionOf, type SignedIn } from './session-routes.ts';
import { CONSOLE_PATH } from '../../document/console.ts';
import { networkOf } from '../audit/record-operation.ts';
import { providerRefusal, type Identity } from './open-id-provider.ts';
import { nameOf, type Person } from './people.ts';
import type { Invitation } from './member-records.ts';
import { acceptInvitation, invitationOf, refuseClosed } from './accept-invitation.ts';
import type { Kit } from '../../kit.ts';

const shared = { method: 'POST', tag: 'Accounts', scope: 'none' } as const;

const beginOperation = openOperation({
  ...shared,
  id: 'beginProviderSignIn',
  path: '/session/oidc',
  summary: 'Begin a sign-in with the provider',
  description:
    'The page keeps `pending` where only pages of its own origin can read it, and leads the browser to `url`, where the person signs in. The provider leads it back to `GET /session/oidc/callback`, and that to `/console/sign-in#answer=…`, from where the page finishes the sign-in within 10 minutes.',
  audit: { unrecorded: 'the person may sign in, or not: what follows is recorded' },
  request: { body: ProviderSignInRequest },
  response: {
    status: 200,
    description: 'Where the sign-in goes on.',
    body: ProviderSignInItem,
    holdsSecret: true,
  },
  refusals: [404],
});

const finishOperation = openOperation({
  ...shared,
  id: 'finishProviderSignIn',
  path: '/session/oidc/answer',
  summary: 'Finish a sign-in with the provider',
  description: 'Only the page that began it can finish it, once.',
  audit: { recordedWithin: 'session.created' },
  request: { body: ProviderAnswerRequest },
  response: SESSION_BEGUN,
  refusals: [404, 409, 410],
});

export const providerRoutes = (options: AccountOperations): Route[] => {
  const { kit, provider, pending, accounts, audit } = options;
  const returnsTo = (): string => redirectUri(kit.publicUrl(), kit.config);
  return [
    openRoute(beginOperation, async ({ body: { invitation } }) => {
      if (provider === undefined) throw providerRefusal('provider_not_offered');
      const { url, checks } = await provider.begin(returnsTo());
      return {
        url,
        pending: await pending.seal({ checks, ...(typeof invitation === 'string' && { invitation }) }),
      };
    }),
    openRoute(finishOperation, async ({ body }, visitor, ctx) => {
      if (provider === undefined) throw providerRefusal('provider_not_offered');
      const by = { ctx, visitor };
      const { address } = visitor;
      const answer = new URL(returnsTo());
      answer.search = body.answer;
      try {
        // Of two states neither counts.
        const state = answer.searchParams.getAll('state').join(' ');
        const { checks, invitation } = await pending.open(body.pending, state);
        const signedIn = await accounts.limit.attempt({ address }, async () =>
          signInAs(options, by, await provider.finish(answer, checks), invitation),
        );
        return await beginSession(options, by, { ...signedIn, made_by: 'oidc' });
      } catch (error) {
        if (error instanceof Refused) audit.refused.count({ why: 'sign_in', address: address ?? undefined });
        throw error;
      }
    }),
  ];
};

const PATH = '/session/oidc/callback';

/** The address to register at the provider. `publicUrl`: without a slash at the end. */
export const redirectUri = (
  publicUrl: string,
  { RUNLEDGER_BASE_PATH }: { readonly RUNLEDGER_BASE_PATH: string },
): string => `${publicUrl}${RUNLEDGER_BASE_PATH}${PATH}`;

const SEE_OTHER = 303;

/**
 * `GET /session/oidc/callback`: a browser comes back from the provider. Nobody is signed in here: the browser may have been led by any page.
 * It is led to our own page with the answer of the provider in the fragment, which no server gets, and the page finishes what it began.
 */
export const providerCallback = ({ config, publicUrl }: Kit): PlainRoute => ({
  method: 'GET',
  path: `${config.RUNLEDGER_BASE_PATH}${PATH}`,
  serve: async (ctx) => {
    ctx.status = SEE_OTHER;
    ctx.set(
      'Location',
      `${publicUrl()}${CONSOLE_PATH}/sign-in#answer=${encodeURIComponent(ctx.querystring)}`,
    );
  },
});

interface By {
  readonly ctx: Context;
  readonly visitor: Visitor;
}

/**
 * Whom an identity of the provider signs in, and where. The first time it becomes that of the person with its verified e-mail; with the
 * token of an invitation the person becomes a member, as with a password. @throws {Refused} @throws {AuditNotStored} @throws {LogUnavailable}
 */
const signInAs = async (
  options: AccountOperations,
  by: By,
  identity: Identity,
  token: string | undefined,
): Promise<Pick<SignedIn, 'person' | 'org_id'>> => {
  const invitation = token === undefined ? undefined : await invitationOf(options, token);
  const decision = await decide(options, by, identity, invitation);
  if (invitation !== undefined) await refuseClosed(options, invitation);
  const person = await carryOut(options, by, { identity, decision, org_id: invitation?.org_id });
  if (invitation !== undefined) await acceptInvitation(options, invitation, person, by);
  return { person, org_id: invitation?.org_id };
};

type Decided = Exclude<SignInDecision, { readonly kind: 'refused' }>;

const decide = async (
  options: AccountOperations,
  { visitor }: By,
  identity: Identity,
  invitation: Invitation | undefined,
): Promise<Decided> => {
  const { people, memberships } = options.accounts;
  const { email } = identity;
  const [linked, person, session] = await Promise.all([
    people.findByIdentity(identity),
    email === undefined ? undefined : people.findByEmail(email),
    sessionOf(options, visitor),
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

const carryOut = async (options: AccountOperations, by: By, order: CarryOut): Promise<Person> => {
  const { identity, decision, org_id } = order;
  const { people, memberships } = options.accounts;
  switch (decision.kind) {
    case 'known':
      return decision.person;
    case 'link':
      await link(options, by, { ...decision, identity, org_id });
      return decision.person;
    case 'create': {
      const { email, former } = decision;
      if (org_id === undefined) throw new TypeError('Somebody joins with an invitation.');
      const name = identity.name ?? nameOf(email);
      const person = await (former
        ? people.takeUp(former, name, { org_id })
        : people.create(email, name, { org_id }));
      // Somebody else accepts the invitation at this moment.
      if (person === undefined) throw providerRefusal('identity_taken');
      try {
        await link(options, by, { person, keepsPassword: true, identity, org_id });
      } catch (error) {
        await memberships.giveUp(org_id, person);
        throw error;
      }
      return person;
    }
  }
};

interface Link extends Pick<CarryOut, 'identity' | 'org_id'> {
  readonly person: Person;
  readonly keepsPassword: boolean;
}

/** Whoever chose the password, and has sessions with it, may not be the person: an account does not verify its e-mail, and the provider did. */
const link = async (options: AccountOperations, { ctx, visitor }: By, order: Link): Promise<void> => {
  const { accounts, audit } = options;
  const { people, memberships } = accounts;
  const { person, identity, keepsPassword } = order;
  const removes_password = !keepsPassword && (await people.waysOf(person.id)).password;
  await audit.record(
    {
      action: 'identity.linked',
      org_id: order.org_id ?? (await memberships.of(person.id))[0]?.id ?? null,
      actor: { kind: 'unknown', network: networkOf(visitor.address ?? undefined) },
      target: { kind: 'identity', id: person.id },
      request_id: requestOf(ctx).request_id,
      details: { removes_password },
    },
    async () => {
      if (!(await people.link(person.id, identity, keepsPassword))) throw providerRefusal('identity_taken');
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

/** What is known when somebody has signed in at the provider. */
export interface Claimant {
  readonly identity: Pick<Identity, 'email'>;
  /** Whose identity it is already. */
  readonly linked: Person | undefined;
  /** Who has the e-mail of the identity here, and whether they are a member of an organisation. */
  readonly owner: { readonly person: Person; readonly isMember: boolean } | undefined;
  /** The invitation with which the sign-in began. */
  readonly invitation: { readonly email: string } | undefined;
  /** Who was signed in with this browser when it began. */
  readonly signedIn: string | undefined;
}

type SignInDecision =
  | { readonly kind: 'known'; readonly person: Person }
  /** The identity becomes that of the person. Without `keepsPassword`, whoever chose the password may be somebody else. */
  | { readonly kind: 'link'; readonly person: Person; readonly keepsPassword: boolean }
  /** `former`: somebody who has tried to join before, and was interrupted. */
  | { readonly kind: 'create'; readonly email: string; readonly former?: Person }
  | { readonly kind: 'refused'; readonly why: keyof typeof WHY };

/** Who is signed in. An identity stays with its person, whatever the e-mail is later; before, only a verified e-mail says whose it is. */
export const decideSignIn = ({ identity, linked, owner, invitation, signedIn }: Claimant): SignInDecision => {
  const email = linked?.email ?? identity.email;
  if (email === undefined) return { kind: 'refused', why: 'email_not_verified' };
  if (invitation !== undefined && invitation.email !== email)
    return { kind: 'refused', why: 'invitation_for_another' };
  if (linked !== undefined) return { kind: 'known', person: linked };
  if (owner === undefined)
    return invitation ? { kind: 'create', email } : { kind: 'refused', why: 'person_unknown' };
  const { person, isMember } = owner;
  if (!isMember && invitation === undefined) return { kind: 'refused', why: 'person_unknown' };
  if (invitation !== undefined && person.joining !== undefined)
    return { kind: 'create', email, former: person };
  return { kind: 'link', person, keepsPassword: signedIn === person.id };
};
