import { Type, type Static } from 'typebox';
import { Cursor, NextCursor } from './fields.ts';
import { enumInWords, optional } from '../schemas.ts';

const KeyId = Type.String({
  pattern: '^[0-9a-f]{8}$',
  description: 'The id of a key of RUNLEDGER_SECRET_KEYS, by which it is recognised and nothing more.',
  examples: ['0a1b2c3d'],
});

const Kind = enumInWords(
  {
    webhook_secrets: 'The signing secrets of the organisations.',
    organisation_secrets: 'The secrets that programs of the organisations get.',
  },
  { description: 'What is sealed.' },
);

const count = (description: string) =>
  Type.Integer({ minimum: 0, description: `The number of values ${description}.`, examples: [12] });

const SealedCounts = Type.Object(
  {
    kind: Kind,
    current: count('that were opened, and were sealed with the sealing key before this request'),
    resealed: count('that this request has sealed with the sealing key'),
    old: count('that were opened, and are still sealed with another key'),
    unreadable: count('that no key opens'),
  },
  { title: 'SealedCounts', description: 'How the values of one kind are sealed.' },
);
export type SealedCounts = Static<typeof SealedCounts>;

const UnreadableValue = Type.Object(
  {
    kind: Kind,
    id: Type.String({
      description:
        'The id of the value: of a signing secret that of its organisation; of a secret for programs that of its organisation, a dot and its name.',
      examples: ['01a21460-0006-7000-8000-000000000006'],
    }),
    why: Type.String({
      description: 'What is wrong, and what to do. It contains no secret.',
      examples: ['No key of RUNLEDGER_SECRET_KEYS opens it.'],
    }),
  },
  { title: 'UnreadableValue', description: 'A sealed value that no key opens.' },
);
export type UnreadableValue = Static<typeof UnreadableValue>;

export const SealedValuesPage = Type.Object(
  {
    sealing_key: { ...KeyId, description: 'The first key of this gateway, which seals.' },
    other_keys: Type.Array(KeyId, { description: 'Its other keys, which only open what they have sealed.' }),
    counts: Type.Array(SealedCounts, { description: 'How the values of this page are sealed, by kind.' }),
    unreadable: Type.Array(UnreadableValue, {
      description: 'The values of this page that no key opens. They are left as they are.',
    }),
    next_cursor: NextCursor,
  },
  { title: 'SealedValuesPage', description: 'How up to 100 values are sealed.' },
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
  {
    title: 'ResealRequest',
    description: 'Which key seals, and where to go on.',
    examples: [{ sealing_key: '0a1b2c3d' }],
  },
);
