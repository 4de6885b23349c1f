import { RE2JS, RE2JSException } from 're2js';

/** Instructions of all patterns together, which is what a character of a line costs at most. */
const MAX_INSTRUCTIONS = 400;
const MASK = '***';

/** Replaces every match by `***`. The result is no longer than the text, in characters and in bytes. */
export type MaskText = (text: string) => string;

type CompiledMasks =
  | { readonly kind: 'compiled'; readonly mask: MaskText }
  /** `at`: the pattern; undefined when it is about all of them. */
  | { readonly kind: 'invalid'; readonly at?: number; readonly why: string };

/** Each line is masked by itself, so no pattern matches a line end. */
export const compileMasks = (patterns: readonly string[]): CompiledMasks => {
  const compiled: RE2JS[] = [];
  for (const [at, text] of patterns.entries()) {
    const pattern = compile(text);
    if (typeof pattern === 'string') return { kind: 'invalid', at, why: pattern };
    compiled.push(pattern);
  }
  if (compiled.reduce((sum, pattern) => sum + pattern.programSize(), 0) > MAX_INSTRUCTIONS) {
    const why = `The patterns take too much time: they may have at most ${MAX_INSTRUCTIONS} instructions together. Write shorter repetitions, such as \`{8,}\` for \`{8,64}\``;
    return { kind: 'invalid', why };
  }
  return { kind: 'compiled', mask: (text) => maskedBy(compiled, text) };
};

/** The pattern, or what is wrong with it. */
const compile = (text: string): RE2JS | string => {
  try {
    const pattern = RE2JS.compile(text);
    return pattern.matcher('').find()
      ? 'The pattern matches nothing at all, so it would be everywhere'
      : pattern;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return `The pattern is not valid RE2 syntax: ${error.message}`;
  }
};

const maskedBy = (patterns: readonly RE2JS[], text: string): string => {
  const masked = patterns.reduce((rest, pattern) => pattern.matcher(rest).replaceAll(MASK), text);
  return masked === text ? text : masked.slice(0, text.length);
};
