import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import { Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { takeToken } from './take-token.ts';
import { showSession, useSession } from './use-session.ts';

/** Where a sign-in link leads. Who comes without one and is signed in goes on. */
export const SignInPage = (): ReactNode => {
  const [token] = useState(takeToken);
  const { data: session } = useSession();
  const navigate = useNavigate();
  const byLink = useMutation({
    mutationFn: async (sent: string) => {
      const session = await answered(api.POST('/session/link', { body: { token: sent } }));
      showSession(session);
      return session;
    },
    // Without a password they could not come back.
    onSuccess: async ({ has_password }) => navigate({ to: has_password ? '/runs' : '/account' }),
  });
  const { mutate } = byLink;
  useEffect(() => {
    if (token !== undefined) mutate(token);
  }, [token, mutate]);
  const goesOn = token === undefined && session !== undefined && session.user !== null;
  useEffect(() => {
    if (goesOn) void navigate({ to: '/runs', replace: true });
  }, [goesOn, navigate]);
  return (
    <SignIn>
      {byLink.isPending && <p role="status">Signing in with the link …</p>}
      {byLink.error && <Problem error={byLink.error} />}
    </SignIn>
  );
};

/** Signs in with e-mail and password. `children`: what stands before the form. */
export const SignIn = ({ children }: { readonly children?: ReactNode }): ReactNode => {
  const signIn = useMutation({
    mutationFn: async (body: { readonly email: string; readonly password: string }) =>
      showSession(await answered(api.POST('/session', { body }))),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const text = submitted(event);
    signIn.mutate({ email: text('email'), password: text('password') });
  };
  return (
    <main className="sign-in stack">
      <h1>Sign in to Runledger</h1>
      {children}
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
