import { Type, type Static } from 'typebox';

export const ValidationError = Type.Object(
  {
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description:
        'The location: `body`, `path`, `query` or `header`, then the names and indexes down to the value.',
    }),
    msg: Type.String({ description: 'For people.' }),
    type: Type.String({ description: 'For programs: an error type of pydantic 2.', examples: ['missing'] }),
  },
  { title: 'ValidationError' },
);
export type ValidationError = Static<typeof ValidationError>;

/** The body of every 422 response, and of no other. */
export const HTTPValidationError = Type.Object(
  { detail: Type.Optional(Type.Array(ValidationError)) },
  { title: 'HTTPValidationError' },
);

/** The body of every other error response. */
export const Refusal = Type.Object(
  { detail: Type.String({ description: 'What happened, and what to do.' }) },
  { title: 'Refusal' },
);
