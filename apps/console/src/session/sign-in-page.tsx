import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import { Refused } from '../api/refused.ts';
import { Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { ProviderButton } from './provider-button.tsx';
import { refusedSignIn } from './refused-sign-ins.ts';
import { takeFromAddress } from './take-from-address.ts';
import { showSession, useSession } from './use-session.ts';

/** Where a sign-in link leads, and a refused sign-in with the provider. Who comes without them and is signed in goes on. */
export const SignInPage = (): ReactNode => {
  const [token] = useState(() => takeFromAddress('token'));
  const [refusal, setRefusal] = useState(refusalInAddress);
  const { data: session } = useSession();
  const navigate = useNavigate();
  const byLink = useMutation({
    mutationFn: async (sent: string) => {
      const session = await answered(api.POST('/session/link', { body: { token: sent } }));
      showSession(session);
      return session;
    },
    // Without a password they could not come back.
    onSuccess: async ({ has_password, has_identity }) =>
      navigate({ to: has_password || has_identity ? '/runs' : '/account' }),
  });
  const { mutate } = byLink;
  useEffect(() => {
    if (token !== undefined) mutate(token);
  }, [token, mutate]);
  const isSignedIn = session !== undefined && session.user !== null;
  const goesOn = token === undefined && refusal === undefined && isSignedIn;
  useEffect(() => {
    if (goesOn) void navigate({ to: '/runs', replace: true });
  }, [goesOn, navigate]);
  if (refusal !== undefined && isSignedIn) return <StillSignedIn refusal={refusal} />;
  return (
    <SignIn onSignedIn={() => setRefusal(undefined)}>
      {refusal && <Problem error={refusal} />}
      {byLink.isPending && <p role="status">Signing in with the link …</p>}
      {byLink.error && <Problem error={byLink.error} />}
    </SignIn>
  );
};

const refusalInAddress = (): Refused | undefined => {
  const code = takeFromAddress('refused');
  return code === undefined ? undefined : new Refused(refusedSignIn(code), 0);
};

/** The sign-in that was refused is another one than the present one. */
const StillSignedIn = ({ refusal }: { readonly refusal: Refused }): ReactNode => (
  <main className="sign-in stack">
    <h1>The sign-in was refused</h1>
    <Problem error={refusal} />
    <p>
      You are still signed in as before. <Link to="/runs">Go on</Link>
    </p>
  </main>
);

interface SignInProps {
  /** What stands before the form. */
  readonly children?: ReactNode;
  readonly onSignedIn?: () => void;
}

/** Signs in with the provider, or with e-mail and password. */
export const SignIn = ({ children, onSignedIn }: SignInProps): ReactNode => {
  const { data: session } = useSession();
  const signIn = useMutation({
    mutationFn: async (body: { readonly email: string; readonly password: string }) =>
      showSession(await answered(api.POST('/session', { body }))),
    onSuccess: () => onSignedIn?.(),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const text = submitted(event);
    signIn.mutate({ email: text('email'), password: text('password') });
  };
  return (
    <main className="sign-in stack">
      <h1>Sign in to Runledger</h1>
      {children}
      {session?.provider && (
        <ProviderButton returnTo={location.pathname + location.search}>
          Sign in with {session.provider.name}
        </ProviderButton>
      )}
      {signIn.error && <Problem error={signIn.error} />}
      <form className="stack" onSubmit={submit}>
        <label className="field">
          E-mail
          <input type="email" name="email" autoComplete="username" required />
        </label>
        <label className="field">
          Password
          <input type="password" name="password" autoComplete="current-password" required />
        </label>
        <button type="submit" className="primary" disabled={signIn.isPending}>
          Sign in
        </button>
      </form>
      <p className="quiet">
        No account yet? An owner of your organisation invites you with a link. On a server of your own, the
        start prints a link that signs you in.
      </p>
    </main>
  );
};
