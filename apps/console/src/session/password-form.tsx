import { useMutation } from '@tanstack/react-query';
import type { ReactNode, SubmitEvent } from 'react';
import { answered, api } from '../api/client.ts';
import { Problem } from '../ui/problem.tsx';
import { submitted } from '../ui/submitted.ts';
import type { Session } from './use-session.ts';

/** Changes the password of the person, or sets the first one. */
export const PasswordForm = ({ session }: { readonly session: Session }): ReactNode => {
  const change = useMutation({
    mutationFn: async (body: { password: string; current_password?: string }) =>
      answered(api.POST('/account/password', { body })),
  });
  const { has_password, has_identity, needs_current_password } = session;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const form = event.currentTarget;
    const text = submitted(event);
    change.mutate(
      { password: text('password'), ...(needs_current_password && { current_password: text('current') }) },
      { onSuccess: () => form.reset() },
    );
  };
  return (
    <form className="stack panel sign-in-form" onSubmit={submit}>
      <h2>{has_password ? 'Change the password' : 'Choose a password'}</h2>
      {!has_password && <p>{has_identity ? WITH_IDENTITY : WITH_LINK}</p>}
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
  );
};

const WITH_LINK =
  'You came with a link, and have no password yet. With one you can sign in again without a link.';
const WITH_IDENTITY =
  'You have no password here, and need none. One that you had before your first sign-in with the provider was removed, since somebody else may have chosen it.';
