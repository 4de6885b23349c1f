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

/** What an installation says happened to a run, in a form that proves itself. */
export const Receipt = Type.Object(
  {
    format: Type.Literal(1),
    run_id: Uuid,
    org_id: Uuid,
    issued_at: Time,
    facts: Type.Array(ReceiptFact, { minItems: 1, maxItems: 2_000 }),
    key: PublicKey,
    signature: Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'Ed25519 in base64url, over the receipt as JSON without white space and without this member, in the order of its members here.',
    }),
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
