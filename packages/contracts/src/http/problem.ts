import { Type, type Static } from 'typebox';

export const ValidationError = Type.Object(
  {
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description:
        'The location: `body`, `path`, `query` or `header`, then the names and indexes down to the value.',
      examples: [['body', 'deployment_id']],
    }),
    msg: Type.String({ description: 'What is wrong, for people.', examples: ['This is required: send it'] }),
    type: Type.String({
      description: 'What is wrong, for programs: an error type of pydantic 2.',
      examples: ['missing'],
    }),
  },
  { title: 'ValidationError', description: 'One thing that is wrong with a request.' },
);
export type ValidationError = Static<typeof ValidationError>;

const shared = {
  code: Type.String({
    pattern: '^[a-z][a-z_]*$',
    description:
      'For programs: one cause with one remedy. A code never changes its meaning or its status, and clients may meet new ones. The page docs/errors.md of Runledger has the cause and the remedy of each.',
    examples: ['run_not_found'],
  }),
  request_id: Type.String({
    description: 'The id of the request, as the header `X-Request-Id`. The log of the service has it.',
    examples: ['01a21460-ae48-7794-b9bb-ade918a387db'],
  }),
};

/** The body of every 422 response, and of no other. Its code is `invalid_request`. */
export const HTTPValidationError = Type.Object(
  {
    detail: Type.Optional(
      Type.Array(ValidationError, { description: 'All that is wrong with the request; always present.' }),
    ),
    ...shared,
  },
  {
    title: 'HTTPValidationError',
    description: 'The body of every 422 response, and of no other. Its code is `invalid_request`.',
  },
);

/** The body of every other error response. */
export const Refusal = Type.Object(
  {
    detail: Type.String({
      description: 'What happened, and what to do.',
      examples: ['Run not found'],
    }),
    ...shared,
  },
  { title: 'Refusal', description: 'The body of every error response but 422.' },
);
