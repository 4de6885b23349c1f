import { Type, type Static } from 'typebox';
import { ApiKeyItem } from './api-keys.ts';
import { Name } from './fields/names.ts';
import { OrganisationUuid, UserUuid } from './fields/ids.ts';

export const Whoami = Type.Object(
  {
    organisation: Type.Object(
      {
        id: { ...OrganisationUuid, description: 'The id of the organisation.' },
        name: { ...Name, examples: ['example'] },
      },
      { description: 'The organisation of the key: everything that the key reads is of it.' },
    ),
    user: Type.Object(
      { id: UserUuid, name: { ...Name, examples: ['Ada'] } },
      { description: 'The user of the key.' },
    ),
    key: Type.Pick(ApiKeyItem, ['id', 'name', 'prefix', 'scopes', 'created_at', 'expires_at'], {
      title: 'CallingKey',
      description: 'The API key of the request, without its secret.',
    }),
    version: Type.String({
      description: 'The version of the gateway that responds.',
      examples: ['0.1.0'],
    }),
  },
  { title: 'Whoami', description: 'Who calls, and which version responds.' },
);
export type Whoami = Static<typeof Whoami>;
