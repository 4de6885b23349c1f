import { scopesOfMember } from '@runledger/contracts/accounts/roles';
import type { SessionItem } from '@runledger/contracts/http/accounts/session';
import type { Accounts } from '../accounts.ts';
import type { IdentityProvider } from '../oidc/identity-provider.ts';
import type { Session } from '../sessions.ts';
import { LINK_S } from '../new-sign-in-link.ts';

export interface DescribeSession {
  readonly accounts: Pick<Accounts, 'people' | 'memberships' | 'identities'>;
  /** Undefined where nobody signs in with one. */
  readonly provider: Pick<IdentityProvider, 'name' | 'issuer'> | undefined;
  readonly now: () => Date;
}

/** What a page needs to know of a session; of nobody when it has ended. @throws {LogUnavailable} */
export const describeSession = async (
  { accounts: { people, memberships, identities }, provider, now }: DescribeSession,
  session: Session | undefined,
): Promise<SessionItem> => {
  const offered: Pick<SessionItem, 'sign_in' | 'provider'> = {
    sign_in: provider ? ['password', 'oidc'] : ['password'],
    provider: provider ? { name: provider.name } : null,
  };
  const user = session && (await people.find(session.user_id));
  if (session === undefined || user === undefined) return { ...NOBODY, ...offered };
  const [organisations, has_password, issuer] = await Promise.all([
    memberships.of(user.id),
    people.hasPassword(user.id),
    provider && identities.issuerOf(user.id),
  ]);
  const present = organisations.find(({ id }) => id === session.org_id);
  return {
    user: { id: user.id, email: user.email, name: user.name },
    organisations,
    organisation: present ? { ...present, scopes: scopesOfMember(present) } : null,
    has_password,
    has_identity: issuer !== undefined && issuer === provider?.issuer,
    needs_current_password: has_password && !cameByLink(session, now()),
    expires_at: new Date(session.expires_at).toISOString(),
    ...offered,
  };
};

const NOBODY: Omit<SessionItem, 'sign_in' | 'provider'> = {
  user: null,
  organisations: [],
  organisation: null,
  has_password: false,
  has_identity: false,
  needs_current_password: false,
  expires_at: null,
};

/** Whoever got a link a moment ago may choose a password without the one that was lost. */
export const cameByLink = ({ made_by, created_at }: Session, now: Date): boolean =>
  made_by === 'link' && now.getTime() - created_at < LINK_S * 1_000;
