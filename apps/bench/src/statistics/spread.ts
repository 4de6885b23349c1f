/** The value below which this part of them lies, by the nearest rank; 0 of none. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * part) - 1, 0)] ?? 0;
};

export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** @throws when there are none */
export const spread = (values: readonly number[]): Spread => {
  if (values.length === 0) throw new RangeError('a spread of no values');
  return { median: quantile(values, 0.5), lowest: Math.min(...values), highest: Math.max(...values) };
};
