import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { useSession } from '../session/use-session.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { List } from '../ui/list.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { Invite } from './invite.tsx';
import { ROLES, type Role } from './roles.ts';
import { useMembers } from './use-members.ts';

type Member = Schemas['Member'];

/** Who belongs to the organisation, with which role, and who is invited. */
export const PeoplePage = (): ReactNode => (
  <div className="stack">
    <div className="row apart">
      <h1>People</h1>
      <Invite />
    </div>
    <Members />
    <h2>Invitations</h2>
    <Invitations />
  </div>
);

const Members = (): ReactNode => {
  const { data: session } = useSession();
  const { data, error, isPending } = useMembers();
  const [leaving, setLeaving] = useState<Member>();
  const change = useMutation({
    mutationFn: async ({ user_id, role }: { readonly user_id: string; readonly role: Role }) =>
      answered(api.PATCH('/members/{user_id}', { params: { path: { user_id } }, body: { role } })),
  });
  return (
    <>
      {change.error && <Problem error={change.error} />}
      <List
        what="members"
        columns={['Name', 'E-mail', 'Role', 'Since', 'Action']}
        empty="Nobody belongs to this organisation."
        isPending={isPending}
        error={error}
        rows={(data?.members ?? []).map((member) => (
          <tr key={member.user_id}>
            <th scope="row">
              {member.name} {member.user_id === session?.user?.id && <span className="tag">you</span>}
            </th>
            <td>{member.email}</td>
            <td>
              <select
                aria-label={`Role of ${member.email}`}
                value={member.role}
                disabled={change.isPending}
                onChange={({ target }) =>
                  change.mutate({ user_id: member.user_id, role: target.value as Role })
                }
              >
                {ROLES.map(({ role }) => (
                  <option key={role}>{role}</option>
                ))}
              </select>
            </td>
            <td>
              <Ago time={member.since} />
            </td>
            <td>
              <button type="button" className="danger" onClick={() => setLeaving(member)}>
                Remove …<span className="visually-hidden"> {member.email}</span>
              </button>
            </td>
          </tr>
        ))}
      />
      {leaving && <RemoveDialog member={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
};

const RemoveDialog = ({
  member,
  onClose,
}: {
  readonly member: Member;
  readonly onClose: () => void;
}): ReactNode => {
  const path = { user_id: member.user_id };
  return (
    <ConfirmDialog
      title={`Remove ${member.email}?`}
      action="Remove"
      onConfirm={async () => answered(api.DELETE('/members/{user_id}', { params: { path } }))}
      onClose={onClose}
    >
      <p>
        Their sessions here end within a second. API keys that they made stay: revoke those that nobody else
        needs.
      </p>
    </ConfirmDialog>
  );
};

const Invitations = (): ReactNode => {
  const { data, error, isPending } = useQuery({
    queryKey: ['invitations'],
    queryFn: async ({ signal }) => answered(api.GET('/invitations', { signal })),
  });
  const revoke = useMutation({
    mutationFn: async (invitation_id: string) =>
      answered(api.DELETE('/invitations/{invitation_id}', { params: { path: { invitation_id } } })),
  });
  return (
    <>
      {revoke.error && <Problem error={revoke.error} />}
      <List
        what="invitations"
        columns={['E-mail', 'Role', 'Made', 'Ends', 'Action']}
        empty="Nobody is invited at the moment."
        isPending={isPending}
        error={error}
        rows={(data?.invitations ?? []).map(({ id, email, role, created_at, expires_at }) => (
          <tr key={id}>
            <th scope="row">{email}</th>
            <td>{role}</td>
            <td>
              <Ago time={created_at} />
            </td>
            <td>
              <Ago time={expires_at} />
            </td>
            <td>
              <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate(id)}>
                Take back<span className="visually-hidden"> the invitation of {email}</span>
              </button>
            </td>
          </tr>
        ))}
      />
    </>
  );
};
