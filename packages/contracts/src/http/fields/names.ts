import { Type } from 'typebox';
import { Cursor, PageLimit } from './values.ts';

/** The name of a stored record. A record of an earlier release may have a name that `NewName` refuses. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Its name, for people. Several may have the same.',
  examples: ['portraits'],
});

/** Invisible characters: they disguise a name, change the direction of text, or end a line of a log. */
const INVISIBLE =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';
/** Spaces and joiners of letters and emoji: allowed in a name, but a name needs other characters too. */
const BLANK = ' \\u00a0\\u1680\\u2000-\\u200a\\u200c\\u200d\\u202f\\u205f\\u2800\\u3000\\u3164';

/** Of a text that is not blank: any character that is seen. */
export const VISIBLE = `[^${BLANK}${INVISIBLE}]`;

/** Clients are generated in several languages: JavaScript, Python and Rust all understand these escapes. */
export const NewName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: `^[${BLANK}]*${VISIBLE}[^${INVISIBLE}]*$`,
  examples: ['portraits'],
  description:
    'For people. Not blank, and without control characters and characters that change the direction of text.',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Input should be a text of 1 to 128 characters that is not blank, without control characters and characters that change the direction of text',
  },
});

export const Archived = Type.Boolean({
  description: 'Whether it is archived: kept for its runs, and not available for anything new.',
  examples: [false],
});

/** The page of a list of records. */
export const RecordsQuery = Type.Object({
  archived: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True lists the archived records instead of the others.',
      examples: [false],
    }),
  ),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

/** The page of a list of records that have names. */
export const NamedRecordsQuery = Type.Object({
  ...RecordsQuery.properties,
  name: Type.Optional({ ...Name, description: 'Only records with exactly this name; several may have it.' }),
});
