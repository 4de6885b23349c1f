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
export const mistakesIn = (name: string, known: string): number | undefined => {
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
