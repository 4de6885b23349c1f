import { Type, type Static } from 'typebox';
import { OrganisationScope, KeyScope } from '../catalogue/records.ts';
import { Name, NewName } from './fields/names.ts';
import { Time, TimeOrDay, Uuid } from './fields/values.ts';
import { nullable, optional } from './fields/optional.ts';

const ORGANISATION_SCOPES =
  '`runs:read` reads; `runs:write` also queues, cancels and repeats runs; `admin` also writes the catalogue and manages the keys of the organisation.';

const Scope = {
  ...KeyScope,
  description: `${ORGANISATION_SCOPES} \`operator\` lists, drains and resumes the executors, which all organisations share, and checks and renews how stored values are sealed. It implies no other scope, and no other scope implies it.`,
};

/** The scopes that a request may name. */
const RequestedScope = {
  ...OrganisationScope,
  description: ORGANISATION_SCOPES,
  'x-refusal': {
    type: 'enum',
    msg: "Input should be 'runs:read', 'runs:write' or 'admin'; a key with the scope operator is created with the broker's credentials: runledger keys create --operator",
  },
};

const shown = {
  id: Uuid,
  name: { ...Name, description: 'For people, such as where the key is used.' },
  prefix: Type.String({ description: 'The first characters of the key, for people to recognise it.' }),
  scopes: Type.Array(Scope, {
    description: '`runs:write` implies `runs:read`, and `admin` implies both.',
  }),
  created_at: Time,
  expires_at: nullable(
    Type.String({ format: 'date-time', description: 'Null for a key that does not expire.' }),
  ),
  last_used_at: nullable(
    Type.String({ format: 'date-time', description: 'Up to a minute late; null before the first use.' }),
  ),
  last_used_address: nullable(
    Type.String({
      description:
        'Where the last use came from: the address of the client, as the trusted proxies report it. Null before the first use.',
    }),
  ),
  user_id: Type.String({ format: 'uuid', description: 'The user of the key.' }),
  parent_key_id: nullable(
    Type.String({
      format: 'uuid',
      description: 'The key that made it, which may be revoked by now. Null for a key that an operator made.',
    }),
  ),
};

export const ApiKeyItem = Type.Object(shown, { title: 'ApiKey' });
export type ApiKeyItem = Static<typeof ApiKeyItem>;

export const ApiKeyList = Type.Object(
  { api_keys: Type.Array(ApiKeyItem, { description: 'The newest first.' }) },
  { title: 'ApiKeyList' },
);

export const NewApiKeyRequest = Type.Object(
  {
    name: NewName,
    scopes: optional(
      Type.Array(RequestedScope, {
        minItems: 1,
        maxItems: 16,
        default: ['runs:write'],
        description: 'Only scopes that the key of this request has.',
      }),
    ),
    user_id: optional({
      ...Uuid,
      description:
        'The user that the key belongs to, by default the one of the key of this request. Another user needs the scope `admin`.',
    }),
    expires_at: optional({
      ...TimeOrDay,
      description:
        'In the future, and not after the expiry of the key of this request, which is also the default. Without either the key does not expire.',
    }),
  },
  { title: 'NewApiKey' },
);

export const CreatedApiKeyItem = Type.Object(
  { ...shown, key: Type.String({ description: 'Shown only here: the server stores a hash of it.' }) },
  { title: 'CreatedApiKey' },
);

export const RevokeQuery = Type.Object({
  keep_descendants: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'true revokes this key alone. The keys that were made with it stay valid.',
    }),
  ),
});

export const ApiKeyPath = Type.Object({ key_id: Uuid });
