import { Type, type Static } from 'typebox';
import { OrganisationScope, KeyScope } from '../catalogue/records.ts';
import { Name, NewName } from './fields/names.ts';
import { Time, TimeOrDay, Uuid } from './fields/values.ts';
import { nullable, optional } from './fields/optional.ts';

const ORGANISATION_SCOPES =
  '`runs:read` reads; `runs:write` also queues, cancels and repeats runs; `admin` also writes the catalogue and manages the keys of the organisation.';

const Scope = {
  ...KeyScope,
  description: `${ORGANISATION_SCOPES} \`operator\` sees and drains the executors, which all organisations share; it implies none of the others, and none implies it.`,
};

/** The scopes that can be asked for. */
const RequestedScope = {
  ...OrganisationScope,
  description: ORGANISATION_SCOPES,
  'x-refusal': {
    type: 'enum',
    msg: "Input should be 'runs:read', 'runs:write' or 'admin'; a key with the scope operator is made by whoever holds the broker's credentials: runledger keys create --operator",
  },
};

const shown = {
  id: Uuid,
  name: { ...Name, description: 'For people, such as where the key is used.' },
  prefix: Type.String({ description: 'The first characters of the key, by which a person recognises it.' }),
  scopes: Type.Array(Scope, {
    description: '`runs:write` implies `runs:read`, and `admin` implies both.',
  }),
  created_at: Time,
  expires_at: nullable(Type.String({ format: 'date-time', description: 'Null for one that does not.' })),
  last_used_at: nullable(
    Type.String({ format: 'date-time', description: 'Up to a minute old; null before the first use.' }),
  ),
  user_id: Type.String({ format: 'uuid', description: 'Whom it belongs to.' }),
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
        description: 'None that the asking key lacks.',
      }),
    ),
    expires_at: optional({
      ...TimeOrDay,
      description:
        'In the future. Without it the key does not expire, or expires with the asking key, which it cannot outlive.',
    }),
  },
  { title: 'NewApiKey' },
);

export const CreatedApiKeyItem = Type.Object(
  { ...shown, key: Type.String({ description: 'Shown this once: only a hash of it is stored.' }) },
  { title: 'CreatedApiKey' },
);

export const ApiKeyPath = Type.Object({ key_id: Uuid });
