/** What decides about a cache. */
interface Measured {
  readonly bytes: number;
  /** In milliseconds, as `now`. */
  readonly lastUsed: number;
  /** A process has it. */
  readonly isHeld: boolean;
}

export interface Unwanted<Each> {
  readonly cache: Each;
  readonly why: 'unused' | 'limit';
}

/**
 * The caches that have to go: those that nobody has used for long, and so many that the others are within the limit. What no process has goes first, then
 * what was used least recently.
 */
export const unwantedOf = <Each extends Measured>(
  caches: readonly Each[],
  {
    now,
    maxUnusedMs,
    maxBytes,
  }: { readonly now: number; readonly maxUnusedMs: number; readonly maxBytes: number },
): readonly Unwanted<Each>[] => {
  const isUnused = ({ isHeld, lastUsed }: Each): boolean => !isHeld && now - lastUsed > maxUnusedMs;
  const unused = caches.filter(isUnused);
  const others = caches
    .filter((cache) => !isUnused(cache))
    .toSorted((a, b) => Number(a.isHeld) - Number(b.isHeld) || a.lastUsed - b.lastUsed);
  let over = others.reduce((sum, { bytes }) => sum + bytes, 0) - maxBytes;
  const tooMany = others.filter(({ bytes }) => {
    if (over <= 0 || bytes === 0) return false;
    over -= bytes;
    return true;
  });
  return [
    ...unused.map((cache) => ({ cache, why: 'unused' }) as const),
    ...tooMany.map((cache) => ({ cache, why: 'limit' }) as const),
  ];
};
