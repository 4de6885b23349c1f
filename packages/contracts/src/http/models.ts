import { Type, type Static } from 'typebox';
import { Cursor, FileUuid, NextCursor, PageLimit, time } from './fields.ts';

const SHA256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const Hash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'The SHA-256 of its bytes, in hexadecimal digits.',
  examples: [SHA256],
});

/** Weights of versions with code, kept as long as a version names them. */
export const Model = Type.Object(
  {
    sha256: Hash,
    bytes: Type.Integer({ minimum: 1, description: 'Its size in bytes.', examples: [4_265_146_304] }),
    versions: Type.Integer({
      minimum: 0,
      description: 'How many versions name it. One that no version names is removed a day later.',
      examples: [2],
    }),
    created_at: time('When it was kept first.'),
  },
  { title: 'Model', description: 'A file with weights that versions with code name.' },
);
export type Model = Static<typeof Model>;

export const ModelPath = Type.Object({ sha256: Hash });

export const ModelsQuery = Type.Object({
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const ModelPage = Type.Object(
  {
    models: Type.Array(Model, { description: 'The last kept one first.' }),
    next_cursor: NextCursor,
  },
  { title: 'ModelPage', description: 'A page of models.' },
);

export const KeepModel = Type.Object(
  { file: { ...FileUuid, description: 'The id of an uploaded file with these bytes.' } },
  {
    title: 'KeepModel',
    description: 'The file that is kept.',
    examples: [{ file: '01a21460-0009-7000-8000-000000000009' }],
  },
);
