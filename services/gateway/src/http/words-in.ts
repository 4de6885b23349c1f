import type { Static, TSchema } from 'typebox';

/** The texts of a list, or of a text with commas, each once. */
export const textsIn = (given: string | readonly string[]): string[] => [
  ...new Set(typeof given === 'string' ? given.split(',').map((word) => word.trim()) : given),
];

/** The values of a list, or of a text with commas, each once; undefined when left out. The schema has refused other values. */
export const wordsIn = <Schema extends TSchema & { readonly enum: readonly string[] }>(
  schema: Schema,
  given: string | readonly unknown[] | null | undefined,
): Static<Schema>[] | undefined => {
  if (given === null || given === undefined) return undefined;
  const words = typeof given === 'string' ? given.split(',').map((word) => word.trim()) : given;
  const isWord = (word: unknown): word is Static<Schema> =>
    typeof word === 'string' && schema.enum.includes(word);
  return [...new Set(words.filter(isWord))];
};
