import { Type } from 'typebox';
import { Cursor, PageLimit } from './fields.ts';

/** 1 to 128 characters. */
export const Name = Type.String({ minLength: 1, maxLength: 128 });

export const Archived = Type.Boolean({
  description: 'Whether it is put away: kept for the runs that it belongs to, and nothing new is made of it.',
});

/** Which part of a list of records is asked for. */
export const RecordsQuery = Type.Object({
  archived: Type.Optional(
    Type.Boolean({ default: false, description: 'true for the archived ones instead of the others' }),
  ),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});
