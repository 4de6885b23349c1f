import { Type } from 'typebox';

/** Of one tag, in a pattern. */
const CHARACTERS = '[A-Za-z0-9_.:/-]{1,64}';

/** What a client calls a run by, beside its id, such as `customer:17`. Every tag fits into an address and a comma-separated list as it is. */
export const Tag = Type.String({
  pattern: `^${CHARACTERS}$`,
  description: 'Your own word for runs.',
  examples: ['customer:17'],
});

/** What the pattern says, for people. */
export const TAG_RULE = 'A tag has 1 to 64 letters, digits and characters of _ - . : /';

/** Of one run. */
export const MAX_TAGS = 16;

/** Tags in a text, with commas. */
export const TAGS_PATTERN = `^ *${CHARACTERS} *(?:, *${CHARACTERS} *){0,${MAX_TAGS - 1}}$`;
