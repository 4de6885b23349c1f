import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { Link, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import { Refused } from '../api/refused.ts';
import { Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { consumeBegunSignIn } from './begun-sign-in.ts';
import { ProviderButton } from './provider-button.tsx';
import { consumeFromAddress } from './consume-from-address.ts';
import { showSession, useSession, type Session } from './use-session.ts';

/** Where a sign-in link leads, and a provider back. Who comes without them and is signed in goes on. */
export const SignInPage = (): ReactNode => {
  const [token, setToken] = useState(() => consumeFromAddress('token'));
  const [answer, setAnswer] = useState(() => consumeFromAddress('answer'));
  const { data: session } = useSession();
  const navigate = useNavigate();
  const byLink = useLink();
  const byProvider = useProviderAnswer();
  const { mutate: sendToken } = byLink;
  const { mutate: sendAnswer } = byProvider;
  useEffect(() => {
    if (token !== undefined) sendToken(token);
  }, [token, sendToken]);
  useEffect(() => {
    if (answer !== undefined) sendAnswer(answer);
  }, [answer, sendAnswer]);
  const isSignedIn = session !== undefined && session.user !== null;
  const hasCome = token !== undefined || answer !== undefined;
  const goesOn = !hasCome && isSignedIn;
  useEffect(() => {
    if (goesOn) void navigate({ to: '/runs', replace: true });
  }, [goesOn, navigate]);
  const refusal = byLink.error ?? byProvider.error;
  if (hasCome && !refusal)
    return (
      <main className="sign-in">
        <p role="status">Signing in …</p>
      </main>
    );
  if (refusal && isSignedIn && hasCome) return <StillSignedIn refusal={refusal} />;
  const forget = (): void => {
    setToken(undefined);
    setAnswer(undefined);
  };
  return <SignIn onSignedIn={forget}>{refusal && <Problem error={refusal} />}</SignIn>;
};

const useLink = (): UseMutationResult<Session, Error, string> => {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async (token) => {
      const session = await answered(api.POST('/session/link', { body: { token } }));
      showSession(session);
      return session;
    },
    // Without a password they could not come back.
    onSuccess: async ({ has_password, has_identity }) =>
      navigate({ to: has_password || has_identity ? '/runs' : '/account' }),
  });
};

const useProviderAnswer = (): UseMutationResult<string, Error, string> => {
  const { history } = useRouter();
  return useMutation({
    mutationFn: async (answer) => {
      const begun = consumeBegunSignIn();
      if (begun === undefined) throw new Refused(NOT_BEGUN, 0);
      const body = { pending: begun.pending, answer };
      showSession(await answered(api.POST('/session/oidc/answer', { body })));
      return begun.returnTo;
    },
    onSuccess: (returnTo) => history.replace(returnTo),
  });
};

const NOT_BEGUN = {
  code: 'sign_in_not_begun',
  detail:
    'This sign-in was not begun in this browser, or was finished already. Begin again. If it stays so, open the console at the address that its operator gave you.',
};

/** The sign-in that was refused is another one than the present one. */
const StillSignedIn = ({ refusal }: { readonly refusal: Error }): ReactNode => (
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
