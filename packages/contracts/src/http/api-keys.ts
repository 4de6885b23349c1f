import { Type, type Static } from 'typebox';
import { KeyScope, OrganisationScope } from '../catalogue/records.ts';
import { nullable, optional } from '../schemas.ts';
import {
  CreatedAt,
  FUTURE_DAY,
  KeyUuid,
  Name,
  NewName,
  OrganisationUuid,
  time,
  TimeOrDay,
  UserUuid,
} from './fields.ts';

const ORGANISATION_SCOPES =
  '`runs:read` reads; `runs:write` also queues, cancels and repeats runs; `admin` also writes the catalogue and manages the keys of the organisation.';

/** A scope, as responses show it. */
export const VisibleScope = {
  ...KeyScope,
  description: `${ORGANISATION_SCOPES} \`operator\` lists, drains and resumes the executors, which all organisations share, and checks and renews how stored values are sealed. It implies no other scope, and no other scope implies it.`,
};

/** The scopes that a request may name. */
const RequestedScope = {
  ...OrganisationScope,
  description: ORGANISATION_SCOPES,
  'x-refusal': {
    type: 'enum',
    msg: "Send 'runs:read', 'runs:write' or 'admin'; a key with the scope operator is created with the broker's credentials: runledger keys create --operator",
  },
};

const shown = {
  id: KeyUuid,
  name: {
    ...Name,
    description: 'For people, such as where the key is used.',
    examples: ['build server'],
  },
  prefix: Type.String({
    description: 'The first characters of the key, for people to recognise it.',
    examples: ['rl_9c1b2f'],
  }),
  scopes: Type.Array(VisibleScope, {
    description: 'What the key permits. `runs:write` implies `runs:read`, and `admin` implies both.',
    examples: [['runs:write']],
  }),
  created_at: CreatedAt,
  expires_at: nullable(time('When it expires.'), 'Null for a key that does not expire.'),
  last_used_at: nullable(time('When it was used last, up to a minute late.'), 'Null before the first use.'),
  last_used_address: nullable(
    Type.String({
      description:
        'Where the last use came from: the address of the client, as the trusted proxies report it. Null before the first use.',
      examples: ['192.0.2.17'],
    }),
  ),
  user_id: { ...UserUuid, description: 'The user of the key.' },
  parent_key_id: nullable(
    { ...KeyUuid, description: 'The key that made it, which may be revoked by now.' },
    'Null for a key that an operator made.',
  ),
  made_by: nullable(
    {
      ...UserUuid,
      description:
        'The user who made it, with a key or a session, in whosever name. When this user is removed, or may no longer give so much, it is revoked.',
    },
    'Null for a key that an operator made.',
  ),
};

export const ApiKeyItem = Type.Object(shown, {
  title: 'ApiKey',
  description: 'An API key, without its secret.',
});
export type ApiKeyItem = Static<typeof ApiKeyItem>;

export const ApiKeyList = Type.Object(
  { api_keys: Type.Array(ApiKeyItem, { description: 'The newest first.' }) },
  { title: 'ApiKeyList', description: 'All keys that the calling key may manage.' },
);

export const NewApiKeyRequest = Type.Object(
  {
    name: { ...NewName, examples: ['build server'] },
    scopes: optional(
      Type.Array(RequestedScope, {
        minItems: 1,
        maxItems: 16,
        default: ['runs:write'],
        description: 'What the key permits. Only scopes that the key of this request has.',
        examples: [['runs:read']],
      }),
    ),
    user_id: optional({
      ...UserUuid,
      description:
        'The user that the key belongs to, by default the one of the key of this request. Another user needs the scope `admin`.',
    }),
    expires_at: optional({
      ...TimeOrDay,
      examples: [FUTURE_DAY],
      description:
        'When it expires: in the future, and not after the expiry of the key of this request, which is also the default. Without either the key does not expire.',
    }),
  },
  {
    title: 'NewApiKey',
    description: 'An API key of the organisation.',
    examples: [{ name: 'build server', scopes: ['runs:read'], expires_at: FUTURE_DAY }],
  },
);

export const CreatedApiKeyItem = Type.Object(
  {
    ...shown,
    key: Type.String({
      description: 'The key. It is shown only here: the server stores a hash of it.',
      examples: ['rl_9c1b2f4f0a7d4e8f8b1c6f1d2a3b4c5d6e7f8091a2b'],
    }),
  },
  { title: 'CreatedApiKey', description: 'A new API key, with its secret.' },
);

export const RevokeQuery = Type.Object({
  keep_descendants: Type.Optional(
    Type.Boolean({
      default: false,
      examples: [false],
      description: 'True revokes this key alone. The keys that were made with it stay valid.',
    }),
  ),
});

export const ApiKeyPath = Type.Object({ key_id: KeyUuid });

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
