import type { Static, TSchema } from 'typebox';
import { Refused } from './refusal.ts';

/** Longer names are compared with none. */
const MAX_LENGTH = 64;

/**
 * The known name that a misspelt one most probably means; undefined when none is near. At most a third of the letters may be wrong: left
 * out, added, replaced, or two neighbours exchanged. Upper and lower case are the same.
 */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  let nearest: string | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const mistakes = mistakesIn(name, candidate);
    if (mistakes !== undefined && mistakes < least) {
      nearest = candidate;
      least = mistakes;
    }
  }
  return nearest;
};

/** The number of wrong letters; undefined when they are too many for a misspelling. */
const mistakesIn = (name: string, known: string): number | undefined => {
  const [given, meant] = [name.toLowerCase(), known.toLowerCase()];
  const most = Math.max(1, Math.floor(meant.length / 3));
  if (given.length > MAX_LENGTH || Math.abs(given.length - meant.length) > most) return undefined;
  const mistakes = distance(given, meant);
  return mistakes <= most ? mistakes : undefined;
};

/** The optimal string alignment distance: https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance */
const distance = (one: string, other: string): number => {
  let twoBefore: number[] = [];
  let before = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const present = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isExchange = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      present.push(
        Math.min(
          (before[column] ?? 0) + 1,
          (present[column - 1] ?? 0) + 1,
          (before[column - 1] ?? 0) + (isSame ? 0 : 1),
          isExchange ? (twoBefore[column - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    twoBefore = before;
    before = present;
  }
  return before[other.length] ?? 0;
};

/** A path of the API, with its method. */
interface KnownPath {
  readonly method: string;
  /** With the base path, and parameters in braces: `/api/run/{run_id}`. */
  readonly path: string;
}

/** The path that a request most probably means: misspelt, without the base path, or with a slash at the end. */
export const nearestPath = (
  { method, path }: KnownPath,
  { known, basePath }: { readonly known: readonly KnownPath[]; readonly basePath: string },
): KnownPath | undefined => {
  const given = segmentsOf(path);
  const withBase = [...segmentsOf(basePath), ...given];
  let nearest: KnownPath | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const meant = segmentsOf(candidate.path);
    const mistakes = mistakesOf(given, meant) ?? mistakesOf(withBase, meant);
    if (mistakes === undefined) continue;
    // Of paths that are as near, one with the method of the request.
    const rank = mistakes + (candidate.method === method ? 0 : 0.5);
    if (rank >= least) continue;
    nearest = candidate;
    least = rank;
  }
  return nearest;
};

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

const mistakesOf = (given: readonly string[], meant: readonly string[]): number | undefined => {
  if (given.length !== meant.length) return undefined;
  let sum = 0;
  for (const [index, segment] of meant.entries()) {
    if (segment.startsWith('{')) continue;
    const mistakes = mistakesIn(given[index] ?? '', segment);
    if (mistakes === undefined) return undefined;
    sum += mistakes;
  }
  return sum;
};

const MAX_SHOWN = 120;

/** The refusal of a path that the service does not have. `next` says where to look. */
export const noSuchPath = (
  { method, url }: { readonly method: string; readonly url: string },
  next?: string,
): Refused =>
  new Refused({
    code: 'path_unknown',
    why: `There is no ${method} ${shown(url)}.${next === undefined ? '' : ` ${next}`}`,
  });

/** Without the query, which may hold a secret. */
const shown = (url: string): string => {
  const path = url.replace(/[?#].*$/s, '');
  return path.length <= MAX_SHOWN ? path : `${path.slice(0, MAX_SHOWN).toWellFormed()}…`;
};

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
