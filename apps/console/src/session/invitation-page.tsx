import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { ProviderButton } from './provider-button.tsx';
import { consumeFromAddress } from './consume-from-address.ts';
import { showSession, useSession } from './use-session.ts';

/** Accepts an invitation: with the account that the e-mail has, or with a new one, where the link may make it. */
export const InvitationPage = (): ReactNode => {
  const [token] = useState(() => consumeFromAddress('token'));
  const preview = useMutation({
    mutationFn: async (token: string) => answered(api.POST('/invitations/preview', { body: { token } })),
  });
  const { mutate } = preview;
  useEffect(() => {
    if (token !== undefined) mutate(token);
  }, [token, mutate]);
  if (token === undefined)
    return <Outside>This link has no invitation in it. Open the whole link that you were sent.</Outside>;
  if (preview.error)
    return (
      <Outside>
        <Problem error={preview.error} />
      </Outside>
    );
  if (!preview.data)
    return (
      <Outside>
        <Loading what="the invitation" />
      </Outside>
    );
  return <Acceptance token={token} invitation={preview.data} />;
};

const Outside = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <main className="sign-in stack">
    <h1>An invitation</h1>
    <div>{children}</div>
  </main>
);

interface AcceptanceProps {
  readonly token: string;
  readonly invitation: Schemas['InvitationPreview'];
}

const Acceptance = ({ token, invitation }: AcceptanceProps): ReactNode => {
  const { organisation, email, role, may_create_account } = invitation;
  const [isNew, setIsNew] = useState(may_create_account);
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: async (body: { token: string; name?: string; password?: string }) =>
      showSession(await answered(api.POST('/invitations/accept', { body }))),
    onSuccess: async () => navigate({ to: '/runs' }),
  });
  const { data: session } = useSession();
  const isSignedIn = session?.user?.email === email;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const text = submitted(event);
    accept.mutate({
      token,
      ...(!isSignedIn && { password: text('password') }),
      ...(!isSignedIn && isNew && { name: text('name') }),
    });
  };
  return (
    <main className="sign-in stack">
      <h1>Join {organisation.name}</h1>
      <p>
        You are invited as {role}, with the e-mail {email}.{isSignedIn && ' You are signed in with it.'}
        {!isSignedIn && isNew && ' Choose a name and a password.'}
        {!isSignedIn && !isNew && ' Enter the password of your account here.'}
      </p>
      {!isSignedIn && !may_create_account && (
        <p>
          Without an account, {session?.provider ? `join with ${session.provider.name}, or ask` : 'ask'} an
          operator of this installation for an invitation: only theirs make one.
        </p>
      )}
      {accept.error && <Problem error={accept.error} />}
      {session?.provider && (
        <ProviderButton returnTo="/console/runs" invitation={token}>
          Join with {session.provider.name}
        </ProviderButton>
      )}
      <form className="stack" onSubmit={submit}>
        {!isSignedIn && <Proof email={email} isNew={isNew} />}
        {!isSignedIn && may_create_account && (
          <label>
            <input type="checkbox" checked={!isNew} onChange={() => setIsNew(!isNew)} /> I have an account
            with this e-mail already
          </label>
        )}
        <button type="submit" className="primary" disabled={accept.isPending}>
          Join
        </button>
      </form>
    </main>
  );
};

interface ProofProps {
  readonly email: string;
  readonly isNew: boolean;
}

/** Of a new account, or of the one that the person has. */
const Proof = ({ email, isNew }: ProofProps): ReactNode => (
  <>
    <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
    {isNew && (
      <label className="field">
        Name
        <input name="name" required maxLength={128} autoComplete="name" />
      </label>
    )}
    <label className="field">
      Password{isNew && ', of at least 10 characters'}
      <input
        type="password"
        name="password"
        required
        minLength={isNew ? 10 : 1}
        autoComplete={isNew ? 'new-password' : 'current-password'}
      />
    </label>
  </>
);
