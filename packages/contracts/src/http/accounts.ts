import { Type, type Static } from 'typebox';
import { Role } from '../catalogue/records.ts';
import { enumInWords, nullable, optional, unchanged } from '../schemas.ts';
import { VisibleScope } from './api-keys.ts';
import { Name, NewName, OrganisationUuid, time, UserUuid } from './fields.ts';

/** As people write it. It is compared in lower case. */
export const Email = Type.String({
  maxLength: 254,
  pattern:
    "^(?:[A-Za-z0-9_'+-]+\\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$",
  description: 'The e-mail address of a person.',
  examples: ['ada@example.com'],
  'x-refusal': {
    type: 'value_error',
    msg: 'This is no e-mail address, such as ada@example.com',
  },
});

const PersonName = { ...Name, description: 'The name of the person.', examples: ['Ada'] };

const Operates = Type.Boolean({
  description:
    'Whether the member also runs the installation: sessions of the member have the scope `operator`.',
  examples: [false],
});

export const MemberItem = Type.Object(
  {
    user_id: UserUuid,
    email: Email,
    name: PersonName,
    role: Role,
    operator: Operates,
    since: time('When the person became a member.'),
  },
  { title: 'Member', description: 'A person who may sign in to the organisation.' },
);
export type MemberItem = Static<typeof MemberItem>;

export const MemberList = Type.Object(
  { members: Type.Array(MemberItem, { description: 'In the order in which they became members.' }) },
  { title: 'MemberList', description: 'The members of the organisation.' },
);

export const MemberPath = Type.Object({ user_id: UserUuid });

export const MemberChange = Type.Object(
  { role: unchanged(Role), operator: unchanged(Operates) },
  { title: 'MemberChange', description: 'What to change of a member.', examples: [{ role: 'developer' }] },
);

/** The fewest characters of a new password. */
export const SHORTEST_PASSWORD = 10;
/** More would cost the server more than a person gains. */
const LONGEST_PASSWORD = 128;

const organisation = {
  id: { ...OrganisationUuid, description: 'The id of the organisation.' },
  name: { ...Name, examples: ['example'] },
};

const SignInWay = enumInWords(
  {
    password: 'An e-mail and a password.',
    oidc: 'The OpenID Connect provider of the installation.',
  },
  { description: 'A way to sign in.' },
);

const membership = { ...organisation, role: Role, operator: Operates };

export const SessionItem = Type.Object(
  {
    user: nullable(
      Type.Object({ id: UserUuid, email: Email, name: PersonName }, { description: 'Who is signed in.' }),
      'Null when nobody is.',
    ),
    organisations: Type.Array(Type.Object(membership), {
      description: 'The organisations that the person is a member of.',
    }),
    organisation: nullable(
      Type.Object(
        {
          ...membership,
          scopes: Type.Array(VisibleScope, {
            description: 'What requests with the session may do.',
            examples: [['admin']],
          }),
        },
        { description: 'The organisation in which requests with the session act.' },
      ),
      'Null when nobody is signed in, and when the person is no member of it any more: choose another one.',
    ),
    has_password: Type.Boolean({
      description: 'Whether the person can sign in with a password.',
      examples: [true],
    }),
    has_identity: Type.Boolean({
      description: 'Whether the person can sign in with the OpenID Connect provider of the installation.',
      examples: [false],
    }),
    needs_current_password: Type.Boolean({
      description:
        'Whether a new password needs the present one too. Not within 15 minutes after a sign-in with a link.',
      examples: [true],
    }),
    expires_at: nullable(time('When the session ends by itself.'), 'Null when nobody is signed in.'),
    sign_in: Type.Array(SignInWay, {
      description: 'The ways to sign in that the installation offers, beside links.',
      examples: [['password', 'oidc']],
    }),
    provider: nullable(
      Type.Object(
        {
          name: Type.String({
            description: 'How people know it.',
            examples: ['your organisation'],
          }),
        },
        { description: 'The OpenID Connect provider at which people sign in.' },
      ),
      'Null where the installation has none.',
    ),
  },
  { title: 'Session', description: 'Who is signed in, and where their requests act.' },
);
export type SessionItem = Static<typeof SessionItem>;

const Password = Type.String({
  minLength: 1,
  maxLength: LONGEST_PASSWORD,
  description: 'The password of the person.',
  examples: ['correct horse battery staple'],
});

const NewPassword = Type.String({
  minLength: SHORTEST_PASSWORD,
  maxLength: LONGEST_PASSWORD,
  description: 'A new password. Any characters.',
  examples: ['correct horse battery staple'],
});

export const LinkToken = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'What follows `#token=` in the link.',
  examples: ['Zm9vYmFy.c2VjcmV0'],
});

export const SignInRequest = Type.Object(
  { email: Email, password: Password },
  {
    title: 'SignIn',
    description: 'A sign-in with a password.',
    examples: [{ email: 'ada@example.com', password: 'correct horse battery staple' }],
  },
);

export const LinkSignInRequest = Type.Object(
  { token: LinkToken },
  { title: 'LinkSignIn', description: 'A sign-in with a link.', examples: [{ token: 'Zm9vYmFy.c2VjcmV0' }] },
);

export const ProviderSignInRequest = Type.Object(
  {
    invitation: optional(
      { ...LinkToken, description: 'The token of an invitation that the person accepts with the sign-in.' },
      'None, when it is null or omitted.',
    ),
  },
  {
    title: 'ProviderSignIn',
    description: 'A sign-in with the OpenID Connect provider.',
    examples: [{}],
  },
);

const Pending = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'The sign-in that has begun, sealed: for the page that began it, and for nobody else.',
  examples: ['v1.c2VhbGVk'],
});

export const ProviderSignInItem = Type.Object(
  {
    url: Type.String({
      description: 'The address at the provider: the browser goes there.',
      examples: ['https://accounts.example.com/authorize?client_id=runledger&response_type=code'],
    }),
    pending: Pending,
  },
  { title: 'ProviderSignInAddress', description: 'Where the sign-in goes on.' },
);

export const ProviderAnswerRequest = Type.Object(
  {
    pending: Pending,
    answer: Type.String({
      maxLength: 8_192,
      description:
        'The query with which the provider led the browser back, which is what follows `#answer=` in the address, decoded.',
      examples: ['code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj'],
    }),
  },
  {
    title: 'ProviderAnswer',
    description: 'The answer of the OpenID Connect provider to a sign-in.',
    examples: [{ pending: 'v1.c2VhbGVk', answer: 'code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj' }],
  },
);

export const SessionChange = Type.Object(
  { organisation_id: { ...OrganisationUuid, description: 'The organisation in which requests shall act.' } },
  {
    title: 'SessionChange',
    description: 'What to change of the session.',
    examples: [{ organisation_id: '01a21460-0006-7000-8000-000000000006' }],
  },
);

export const NewPasswordRequest = Type.Object(
  { password: NewPassword, current_password: optional(Password) },
  {
    title: 'PasswordChange',
    description: 'A new password of the person who is signed in.',
    examples: [
      { password: 'a better horse battery staple', current_password: 'correct horse battery staple' },
    ],
  },
);

export const NewLinkRequest = Type.Object(
  { email: Email },
  { title: 'NewSignInLink', description: 'Who gets a link.', examples: [{ email: 'ada@example.com' }] },
);

export const SignInLinkItem = Type.Object(
  {
    email: Email,
    token: LinkToken,
    url: Type.String({
      description: 'The address of the link: open it in a browser.',
      examples: ['https://runs.example.com/console/sign-in#token=Zm9vYmFy.c2VjcmV0'],
    }),
    expires_at: time('When the link ends. It ends with its first use, too.'),
  },
  { title: 'SignInLink', description: 'A link that signs a person in, once. It is shown only here.' },
);

export const AcceptInvitationRequest = Type.Object(
  { token: LinkToken, name: optional(NewName), password: optional(Password) },
  {
    title: 'InvitationAcceptance',
    description:
      'A new person gives a name and a password. Someone with an account is signed in already, or gives their password.',
    examples: [{ token: 'Zm9vYmFy.c2VjcmV0', name: 'Ada', password: 'correct horse battery staple' }],
  },
);
