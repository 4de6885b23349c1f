import { Type, type Static } from 'typebox';
import { nullable } from './fields/optional.ts';
import { Time, Uuid } from './fields/values.ts';

const Hash = (description: string) => Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description });
const PublicKey = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Ed25519: SPKI, DER, base64url.',
});

export const ReceiptFact = Type.Object(
  {
    sequence: Type.Integer({ minimum: 1, description: 'Its position in the log.' }),
    time: Type.String({ format: 'date-time', description: 'When the broker stored it.' }),
    subject: Type.String(),
    follows: Type.Integer({
      minimum: 0,
      description: 'The position of the message that it was stored behind, as its fence says; 0 for none.',
    }),
    content: nullable(
      Type.String({
        description:
          'The text as it is stored. It has the hash of the one before as `previous_sha256`. Null when outputs in it were deleted.',
      }),
    ),
    sha256: Hash('Of the content, in base64url.'),
  },
  { title: 'ReceiptFact' },
);
export type ReceiptFact = Readonly<Static<typeof ReceiptFact>>;

const Signature = (of: string) =>
  Type.String({ minLength: 1, maxLength: 128, description: `Ed25519 in base64url, over ${of}.` });

/** Where facts are in a segment, so that each proves that it is part of its Merkle root. */
export const ReceiptSegment = Type.Object(
  {
    first_sequence: Type.Integer({ minimum: 0, description: 'Of the range of the log that was archived.' }),
    last_sequence: Type.Integer({ minimum: 0 }),
    messages: Type.Integer({ minimum: 1, description: 'Of the segment: the leaves of its tree.' }),
    root: Hash('Of the Merkle tree over the messages of the segment (RFC 6962), in base64url.'),
    facts: Type.Array(
      Type.Object({
        sequence: Type.Integer({ minimum: 1 }),
        index: Type.Integer({ minimum: 0, description: 'Of its leaf, from 0 on.' }),
        path: Type.Array(Hash('Beside the way from the leaf to the root, the lowest first.'), {
          maxItems: 64,
        }),
      }),
      { minItems: 1, maxItems: 2_000 },
    ),
  },
  { title: 'ReceiptSegment' },
);
export type ReceiptSegment = Readonly<Static<typeof ReceiptSegment>>;

/** What an installation says happened to a run, in a form that proves itself. */
export const Receipt = Type.Object(
  {
    format: Type.Literal(1),
    run_id: Uuid,
    org_id: Uuid,
    issued_at: Time,
    facts: Type.Array(ReceiptFact, { minItems: 1, maxItems: 2_000 }),
    key: PublicKey,
    signature: Signature(
      'the receipt as JSON without white space, in the order of its members here, without this member and those behind it',
    ),
    archive: Type.Optional(
      Type.Object(
        {
          segments: Type.Array(ReceiptSegment, { minItems: 1, maxItems: 2_000 }),
          signature: Signature(
            'run_id, issued_at and segments as a JSON object without white space, in the order of their members here',
          ),
        },
        { description: 'Facts of the run that are archived, with a signature of the same key.' },
      ),
    ),
  },
  { title: 'Receipt' },
);
export type Receipt = Readonly<Static<typeof Receipt>>;

export const ReceiptKeys = Type.Object(
  {
    keys: Type.Array(PublicKey, {
      description: 'The first one signs. The others have signed before.',
    }),
  },
  { title: 'ReceiptKeys' },
);
