import { mistakesIn } from './nearest-name.ts';

/** A path of the API, with its method. */
export interface KnownPath {
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
