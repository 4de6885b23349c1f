import { plain } from '../output/plain-text.ts';

/** A value of a response for people: a text as it is, everything else as JSON, and nothing as `-`. */
export const valueWords = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
};
