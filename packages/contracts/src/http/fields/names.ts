import { Type } from 'typebox';
import { Cursor, PageLimit } from './values.ts';

/** Of a record that is there: one of an earlier release may hold what is no `NewName`. */
export const Name = Type.String({ minLength: 1, maxLength: 128 });

/** Nobody sees them: they hide what a name is, turn its letters around, or end the line of a log. */
const INVISIBLE =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';
/** Spaces, and what joins letters and emoji: good within a name, and no name alone. */
const BLANK = ' \\u00a0\\u1680\\u2000-\\u200a\\u200c\\u200d\\u202f\\u205f\\u2800\\u3000\\u3164';

/** The escapes are ones that the patterns of JavaScript, Python and Rust have in common: clients are generated in all. */
export const NewName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: `^[${BLANK}]*[^${BLANK}${INVISIBLE}][^${INVISIBLE}]*$`,
  description:
    'For people. Not blank, and without control characters and those that turn the direction of text.',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Input should be a text of 1 to 128 characters that is not blank, without control characters and those that turn the direction of text',
  },
});

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
