/**
 * For `lru-cache`: a bound on the number of entries. Its own `max` allocates all of them at once, which takes a service milliseconds and
 * a quarter of a megabyte for each cache of 10,000, however few it ever holds. This allocates as they come.
 */
export const atMost = (entries: number): { readonly maxSize: number; readonly sizeCalculation: () => 1 } => ({
  maxSize: entries,
  sizeCalculation: one,
});

const one = (): 1 => 1;
