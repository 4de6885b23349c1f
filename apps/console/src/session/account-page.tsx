import type { ReactNode } from 'react';
import { Facts } from '../ui/facts.tsx';
import { PasswordForm } from './password-form.tsx';
import { ProviderButton } from './provider-button.tsx';
import { useSession, type Session } from './use-session.ts';

/** The account of the person, and the ways to sign in that it has. */
export const AccountPage = (): ReactNode => {
  const { data: session } = useSession();
  if (!session) return null;
  const { user } = session;
  return (
    <div className="stack">
      <h1>Your account</h1>
      <p>
        {user?.name}, {user?.email}
      </p>
      {session.provider && <WaysToSignIn session={session} provider={session.provider.name} />}
      <PasswordForm session={session} />
    </div>
  );
};

interface WaysToSignInProps {
  readonly session: Session;
  /** The name of the provider. */
  readonly provider: string;
}

const WaysToSignIn = ({ session, provider }: WaysToSignInProps): ReactNode => {
  const { has_identity, has_password } = session;
  return (
    <section className="stack panel sign-in-form" aria-label="Ways to sign in">
      <h2>Ways to sign in</h2>
      <Facts
        rows={[
          [provider, has_identity ? 'yes' : 'not yet'],
          ['Password', has_password ? 'yes' : 'none'],
        ]}
      />
      {!has_identity && (
        <>
          <p>The account there needs your e-mail, and the provider has to have verified it.</p>
          <ProviderButton returnTo="/console/account">Connect {provider}</ProviderButton>
        </>
      )}
    </section>
  );
};
