import { useMutation } from '@tanstack/react-query';
import type { ReactNode, SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import { Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import { useSession } from './use-session.ts';

/** The account of the person: its password. */
export const AccountPage = (): ReactNode => {
  const { data: session } = useSession();
  const change = useMutation({
    mutationFn: async (body: { password: string; current_password?: string }) =>
      answered(api.POST('/account/password', { body })),
  });
  if (!session) return null;
  const { user, has_password, needs_current_password } = session;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const form = event.currentTarget;
    const text = submitted(event);
    change.mutate(
      { password: text('password'), ...(needs_current_password && { current_password: text('current') }) },
      { onSuccess: () => form.reset() },
    );
  };
  return (
    <div className="stack">
      <h1>Your account</h1>
      <p>
        {user?.name}, {user?.email}
      </p>
      <form className="stack panel sign-in-form" onSubmit={submit}>
        <h2>{has_password ? 'Change the password' : 'Choose a password'}</h2>
        {!has_password && (
          <p>
            You came with a link, and have no password yet. With one you can sign in again without a link.
          </p>
        )}
        {needs_current_password && (
          <label className="field">
            Present password
            <input type="password" name="current" required autoComplete="current-password" />
          </label>
        )}
        <label className="field">
          New password, of at least 10 characters
          <input
            type="password"
            name="password"
            required
            minLength={10}
            maxLength={128}
            autoComplete="new-password"
          />
        </label>
        {change.error && <Problem error={change.error} />}
        {change.isSuccess && <p role="status">It is changed. Your other sessions have ended.</p>}
        <div>
          <button type="submit" className="primary" disabled={change.isPending}>
            {has_password ? 'Change it' : 'Set it'}
          </button>
        </div>
      </form>
    </div>
  );
};
