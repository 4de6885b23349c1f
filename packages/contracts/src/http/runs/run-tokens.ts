import { Type, type Static } from 'typebox';
import { enumInWords } from '../../words/in-words.ts';
import { optional } from '../fields/optional.ts';
import { time } from '../fields/values.ts';

export const RunTokenScope = enumInWords(
  {
    read: '`GET /run/{run_id}`, without `include`.',
    events: '`GET /run/{run_id}/events`.',
    logs: '`GET /run/{run_id}/logs`.',
  },
  { title: 'RunTokenScope', description: 'What a token of a run permits.' },
);
export type RunTokenScope = Static<typeof RunTokenScope>;

/** When a request names no lifetime. */
export const RUN_TOKEN_S = 3_600;

export const NewRunTokenRequest = Type.Object(
  {
    scopes: Type.Array(RunTokenScope, {
      minItems: 1,
      maxItems: 16,
      description: 'What the token permits.',
      examples: [['read', 'events']],
    }),
    expires_in_s: optional(
      Type.Integer({
        minimum: 1,
        description: `Seconds for which the token is valid, ${RUN_TOKEN_S} by default, or fewer if the installation allows fewer. It never outlives the API key.`,
        examples: [900],
      }),
    ),
  },
  {
    title: 'NewRunToken',
    description: 'A token for one run.',
    examples: [{ scopes: ['read', 'events'], expires_in_s: 900 }],
  },
);
export type NewRunTokenRequest = Static<typeof NewRunTokenRequest>;

export const RunTokenItem = Type.Object(
  {
    token: Type.String({
      description: 'The token. It is shown only here, and stored nowhere.',
      examples: ['rlt_eyJydW5faWQiOiIwMWEyMTQ2MCJ9.c2lnbmF0dXJl'],
    }),
    expires_at: time('When it expires.'),
  },
  { title: 'RunToken', description: 'A token that permits little about one run.' },
);
export type RunTokenItem = Static<typeof RunTokenItem>;
