import { Form } from '../ui/form.tsx';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { ROLES, type Role } from './roles.ts';

/** A button, and the form behind it. Its answer is a link, which the owner sends to whom it is for. */
export const Invite = (): ReactNode => {
  return <DialogButton title="Invite somebody">{() => <InviteForm />}</DialogButton>;
};

const InviteForm = (): ReactNode => {
  const invite = useMutation({
    mutationFn: async (body: { readonly email: string; readonly role: Role }) =>
      answered(api.POST('/invitations', { body })),
  });
  const submit = (text: (name: string) => string): void =>
    invite.mutate({
      email: text('email'),
      role: ROLES.find(({ role }) => role === text('role'))?.role ?? 'viewer',
    });
  if (invite.data)
    return (
      <div className="stack">
        <p role="status">
          Send this link to {invite.data.email}. It is shown only now, works once, and ends in 7 days.
        </p>
        {!invite.data.may_create_account && (
          <p>
            The person needs an account here, or signs in with the provider. You are no operator, and only the
            link of an operator makes an account.
          </p>
        )}
        <pre tabIndex={0}>{invite.data.url}</pre>
        <div>
          <CopyButton text={invite.data.url} label="Copy the link" />
        </div>
      </div>
    );
  return (
    <Form button="Make the link" sending={invite} onSubmit={submit}>
      <label className="field">
        E-mail
        <input type="email" name="email" required autoComplete="off" />
      </label>
      <label className="field">
        Role
        <select name="role" defaultValue="developer">
          {ROLES.map(({ role, words }) => (
            <option value={role} key={role}>
              {role}: {words}
            </option>
          ))}
        </select>
      </label>
    </Form>
  );
};
