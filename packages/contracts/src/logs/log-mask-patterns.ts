import { Type, type Static } from 'typebox';

const MAX_MASKS = 20;
const MAX_PATTERN_LENGTH = 256;

/** Patterns in the syntax of RE2, whose matching takes linear time, also of a pattern that somebody chose to be slow. */
export const LogMasks = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: MAX_PATTERN_LENGTH,
    description: 'A regular expression in the syntax of RE2.',
    examples: ['sk-[A-Za-z0-9]{20,}'],
  }),
  {
    minItems: 1,
    maxItems: MAX_MASKS,
  },
);
export type LogMasks = Static<typeof LogMasks>;
