import { Type, type Static } from 'typebox';
import { optional } from '../fields/optional.ts';

export const RunTokenScope = Type.Enum(['read', 'events', 'logs'], { title: 'RunTokenScope' });
export type RunTokenScope = Static<typeof RunTokenScope>;

/** When a request names no lifetime. */
export const RUN_TOKEN_S = 3_600;

export const NewRunTokenRequest = Type.Object(
  {
    scopes: Type.Array(RunTokenScope, {
      minItems: 1,
      maxItems: 16,
      description:
        '`read`: `GET /run/{run_id}`, without `include`. `events`: `GET /run/{run_id}/events`. `logs`: `GET /run/{run_id}/logs`.',
    }),
    expires_in_s: optional(
      Type.Integer({
        minimum: 1,
        description: `Seconds for which the token is valid, ${RUN_TOKEN_S} by default, or fewer if the installation allows fewer. It never outlives the API key.`,
      }),
    ),
  },
  { title: 'NewRunToken' },
);
export type NewRunTokenRequest = Static<typeof NewRunTokenRequest>;

export const RunTokenItem = Type.Object(
  {
    token: Type.String({ description: 'Shown only here: it is stored nowhere.' }),
    expires_at: Type.String({ format: 'date-time' }),
  },
  { title: 'RunToken' },
);
export type RunTokenItem = Static<typeof RunTokenItem>;
