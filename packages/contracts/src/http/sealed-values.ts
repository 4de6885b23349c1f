import { Type, type Static } from 'typebox';
import { Cursor, NextCursor } from './fields/values.ts';
import { optional } from './fields/optional.ts';

const KeyId = Type.String({
  pattern: '^[0-9a-f]{8}$',
  description: 'The id of a key of RUNLEDGER_SECRET_KEYS, by which it is recognised and nothing more.',
});

const Kind = Type.Enum(['webhook_secrets']);

const Count = Type.Integer({ minimum: 0 });

const SealedCounts = Type.Object(
  {
    kind: { ...Kind, description: '`webhook_secrets`: the signing secrets of the organisations.' },
    current: { ...Count, description: 'Opened, and sealed with the sealing key before this request.' },
    resealed: { ...Count, description: 'Sealed with the sealing key by this request.' },
    old: { ...Count, description: 'Opened, and still sealed with another key.' },
    unreadable: Count,
  },
  { title: 'SealedCounts' },
);
export type SealedCounts = Static<typeof SealedCounts>;

const UnreadableValue = Type.Object(
  {
    kind: Kind,
    id: Type.String({ description: 'Of a signing secret: the organisation.' }),
    why: Type.String({ description: 'What is wrong, and what to do. It contains no secret.' }),
  },
  { title: 'UnreadableValue' },
);
export type UnreadableValue = Static<typeof UnreadableValue>;

export const SealedValuesPage = Type.Object(
  {
    sealing_key: { ...KeyId, description: 'The first key of this gateway, which seals.' },
    other_keys: Type.Array(KeyId, { description: 'Its other keys, which only open what they have sealed.' }),
    counts: Type.Array(SealedCounts, { description: 'Of the values of this page, by kind.' }),
    unreadable: Type.Array(UnreadableValue, {
      description: 'The values of this page that no key opens. They are left as they are.',
    }),
    next_cursor: NextCursor,
  },
  { title: 'SealedValuesPage' },
);
export type SealedValuesPage = Static<typeof SealedValuesPage>;

export const SealedValuesQuery = Type.Object({ cursor: Type.Optional(Cursor) });

export const ResealRequest = Type.Object(
  {
    sealing_key: {
      ...KeyId,
      description:
        'The key that seals, as `GET /sealed-values` shows it. A gateway that seals with another key refuses the request.',
    },
    cursor: optional(Cursor),
  },
  { title: 'ResealRequest' },
);
