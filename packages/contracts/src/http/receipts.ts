import { Type, type Static } from 'typebox';
import { nullable } from '../schemas.ts';
import { OrganisationUuid, RunUuid, time } from './fields.ts';

const Hash = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description,
    examples: ['n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'],
  });
const PublicKey = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'A public key of Ed25519: SPKI, DER, base64url.',
  examples: ['MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE'],
});

export const ReceiptFact = Type.Object(
  {
    sequence: Type.Integer({ minimum: 1, description: 'Its position in the log.', examples: [4711] }),
    time: time('When the broker stored it.'),
    subject: Type.String({
      description: 'The subject under which it is stored in the log.',
      examples: [
        'runs.01a21460-0006-7000-8000-000000000006.01a21460-ae48-7794-b9bb-ade918a387db.life.queued.gateway',
      ],
    }),
    follows: Type.Integer({
      minimum: 0,
      description: 'The position of the message that it was stored behind, as its fence says; 0 for none.',
      examples: [0],
    }),
    content: nullable(
      Type.String({
        description:
          'The text as it is stored. It has the hash of the one before as `previous_sha256`. Null when outputs in it were deleted.',
        examples: ['{"type":"RunQueued","version":1}'],
      }),
    ),
    sha256: Hash('The SHA-256 of the content, in base64url.'),
  },
  { title: 'ReceiptFact', description: 'A fact of the run as it is stored.' },
);
export type ReceiptFact = Readonly<Static<typeof ReceiptFact>>;

const Signature = (of: string) =>
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: `A signature of Ed25519 in base64url, over ${of}.`,
    examples: ['5Xqf0lqJmQkAqgI3yK4yZC8yL5mXrVx1o0gQm0Hh1bY'],
  });

/** Where facts are in a segment, so that each proves that it is part of its Merkle root. */
export const ReceiptSegment = Type.Object(
  {
    first_sequence: Type.Integer({
      minimum: 0,
      description: 'The first position of the range of the log that was archived.',
      examples: [1],
    }),
    last_sequence: Type.Integer({
      minimum: 0,
      description: 'The last position of that range.',
      examples: [5000],
    }),
    messages: Type.Integer({
      minimum: 1,
      description: 'The number of messages of the segment: the leaves of its tree.',
      examples: [4988],
    }),
    root: Hash('The root of the Merkle tree over the messages of the segment (RFC 6962), in base64url.'),
    facts: Type.Array(
      Type.Object({
        sequence: Type.Integer({
          minimum: 1,
          description: 'The position of the fact in the log.',
          examples: [4711],
        }),
        index: Type.Integer({ minimum: 0, description: 'The index of its leaf, from 0.', examples: [4702] }),
        path: Type.Array(Hash('A hash beside the way from the leaf to the root.'), {
          maxItems: 64,
          description: 'The hashes beside the way from the leaf to the root, the lowest first.',
        }),
      }),
      {
        minItems: 1,
        maxItems: 2_000,
        description: 'The facts of the run that are in the segment, each with the proof of it.',
      },
    ),
  },
  {
    title: 'ReceiptSegment',
    description: 'Facts that are archived, so that each proves that it is part of a segment.',
  },
);
export type ReceiptSegment = Readonly<Static<typeof ReceiptSegment>>;

/** What an installation says happened to a run, in a form that proves itself. */
export const Receipt = Type.Object(
  {
    format: Type.Literal(1, { description: 'The version of this form.' }),
    run_id: RunUuid,
    org_id: OrganisationUuid,
    issued_at: time('When the receipt was made.'),
    facts: Type.Array(ReceiptFact, {
      minItems: 1,
      maxItems: 2_000,
      description: 'The facts of the run, in the order of the log.',
    }),
    key: PublicKey,
    signature: Signature(
      'the receipt as JSON without white space, in the order of its members here, without this member and those behind it',
    ),
    archive: Type.Optional(
      Type.Object(
        {
          segments: Type.Array(ReceiptSegment, {
            minItems: 1,
            maxItems: 2_000,
            description: 'The segments that have facts of the run.',
          }),
          signature: Signature(
            'run_id, issued_at and segments as a JSON object without white space, in the order of their members here',
          ),
        },
        {
          description:
            'Facts of the run that are archived, with a signature of the same key. Only present when some are.',
        },
      ),
    ),
  },
  {
    title: 'Receipt',
    description: 'What an installation says happened to a run, in a form that proves itself.',
  },
);
export type Receipt = Readonly<Static<typeof Receipt>>;

export const ReceiptKeys = Type.Object(
  {
    keys: Type.Array(PublicKey, {
      description: 'The public keys. The first one signs; the others have signed before.',
    }),
  },
  { title: 'ReceiptKeys', description: 'The keys with which receipts are signed.' },
);
