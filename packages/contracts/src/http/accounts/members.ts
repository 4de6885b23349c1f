import { Type, type Static } from 'typebox';
import { Role } from '../../accounts/roles.ts';
import { UserUuid } from '../fields/ids.ts';
import { Name } from '../fields/names.ts';
import { unchanged } from '../fields/optional.ts';
import { time } from '../fields/values.ts';

/** As people write it, and as the authentication library accepts it. It is compared in lower case. */
export const Email = Type.String({
  maxLength: 254,
  pattern:
    "^(?:[A-Za-z0-9_'+-]+\\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$",
  description: 'The e-mail address of a person.',
  examples: ['ada@example.com'],
  'x-refusal': {
    type: 'value_error',
    msg: 'Value error, this is no e-mail address, such as ada@example.com',
  },
});

export const PersonName = { ...Name, description: 'The name of the person.', examples: ['Ada'] };

export const Operates = Type.Boolean({
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
