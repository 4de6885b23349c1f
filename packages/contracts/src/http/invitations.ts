import { Type, type Static } from 'typebox';
import { Role } from '../catalogue/records.ts';
import { OrganisationUuid, UserUuid, Name, CreatedAt, time } from './fields.ts';
import { optional } from '../schemas.ts';
import { Email, LinkToken } from './accounts.ts';

const InvitationUuid = Type.String({
  format: 'uuid',
  description: 'The id of the invitation.',
  examples: ['01a21460-000b-7000-8000-00000000000b'],
});

const shown = {
  id: InvitationUuid,
  email: Email,
  role: Role,
  created_at: CreatedAt,
  expires_at: time('When it ends by itself.'),
  invited_by: { ...UserUuid, description: 'The user who invites.' },
};

const MayCreateAccount = Type.Boolean({
  description:
    'Whether a person without an account may make one with the link, with a name and a password: an operator invites, who answers for the e-mail.',
  examples: [true],
});

export const InvitationItem = Type.Object(shown, {
  title: 'Invitation',
  description: 'Somebody may become a member.',
});
export type InvitationItem = Static<typeof InvitationItem>;

export const InvitationList = Type.Object(
  { invitations: Type.Array(InvitationItem, { description: 'The newest first.' }) },
  { title: 'InvitationList', description: 'The open invitations of the organisation.' },
);

export const InvitationPath = Type.Object({ invitation_id: InvitationUuid });

export const NewInvitationRequest = Type.Object(
  {
    email: Email,
    role: Role,
    organisation_id: optional({
      ...OrganisationUuid,
      description: 'For operators: the organisation, if it is another one than that of the caller.',
    }),
  },
  {
    title: 'NewInvitation',
    description: 'Who is invited.',
    examples: [{ email: 'ada@example.com', role: 'viewer' }],
  },
);

export const CreatedInvitationItem = Type.Object(
  {
    ...shown,
    organisation_id: { ...OrganisationUuid, description: 'The organisation that invites.' },
    may_create_account: MayCreateAccount,
    token: LinkToken,
    url: Type.String({
      description: 'The address of the link: send it to the person.',
      examples: ['https://runs.example.com/console/invitation#token=Zm9vYmFy.c2VjcmV0'],
    }),
  },
  { title: 'CreatedInvitation', description: 'A new invitation, with its link, which is shown only here.' },
);

export const InvitationPreviewRequest = Type.Object(
  { token: LinkToken },
  {
    title: 'InvitationPreviewRequest',
    description: 'The invitation of a link.',
    examples: [{ token: 'Zm9vYmFy.c2VjcmV0' }],
  },
);

export const InvitationPreview = Type.Object(
  {
    organisation: Type.Object(
      {
        id: { ...OrganisationUuid, description: 'The id of the organisation.' },
        name: { ...Name, examples: ['example'] },
      },
      { description: 'The organisation that invites.' },
    ),
    email: Email,
    role: Role,
    expires_at: time('When it ends by itself.'),
    may_create_account: MayCreateAccount,
  },
  { title: 'InvitationPreview', description: 'What an invitation is for.' },
);
