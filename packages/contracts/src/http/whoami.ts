import { Type, type Static } from 'typebox';
import { ApiKeyItem } from './api-keys.ts';
import { Name } from './fields/names.ts';
import { Uuid } from './fields/values.ts';

const Named = Type.Object({ id: Uuid, name: Name });

export const Whoami = Type.Object(
  {
    organisation: Type.Object(Named.properties, { description: 'Everything that the key reads is of it.' }),
    user: Type.Object(Named.properties, { description: 'The user of the key.' }),
    key: Type.Pick(ApiKeyItem, ['id', 'name', 'prefix', 'scopes', 'created_at', 'expires_at'], {
      title: 'CallingKey',
      description: 'The API key of the request, without its secret.',
    }),
    version: Type.String({ description: 'The version of the gateway that responds, such as 0.1.0.' }),
  },
  { title: 'Whoami' },
);
export type Whoami = Static<typeof Whoami>;
