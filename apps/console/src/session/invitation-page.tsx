import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { ProviderButton } from './provider-button.tsx';
import { takeFromAddress } from './take-from-address.ts';
import { showSession, useSession } from './use-session.ts';

/** Accepts an invitation: with a new account, or with the one that the e-mail has. */
export const InvitationPage = (): ReactNode => {
  const [token] = useState(() => takeFromAddress('token'));
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
  const { organisation, email, role, has_account } = invitation;
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: async (body: { token: string; name?: string; password: string }) =>
      showSession(await answered(api.POST('/invitations/accept', { body }))),
    onSuccess: async () => navigate({ to: '/runs' }),
  });
  const { data: session } = useSession();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const text = submitted(event);
    accept.mutate({ token, password: text('password'), ...(!has_account && { name: text('name') }) });
  };
  return (
    <main className="sign-in stack">
      <h1>Join {organisation.name}</h1>
      <p>
        You are invited as {role}, with the e-mail {email}.
        {has_account ? ' It has an account already: enter its password.' : ' Choose a name and a password.'}
      </p>
      {accept.error && <Problem error={accept.error} />}
      {session?.provider && (
        <ProviderButton returnTo="/console/runs" invitation={token}>
          Join with {session.provider.name}
        </ProviderButton>
      )}
      <form className="stack" onSubmit={submit}>
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        {!has_account && (
          <label className="field">
            Name
            <input name="name" required maxLength={128} autoComplete="name" />
          </label>
        )}
        <label className="field">
          Password{!has_account && ', of at least 10 characters'}
          <input
            type="password"
            name="password"
            required
            minLength={has_account ? 1 : 10}
            autoComplete={has_account ? 'current-password' : 'new-password'}
          />
        </label>
        <button type="submit" className="primary" disabled={accept.isPending}>
          Join
        </button>
      </form>
    </main>
  );
};
