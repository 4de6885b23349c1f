/** The value that this part of the values does not exceed; 0 without values. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.ceil(part * sorted.length) - 1] ?? sorted[0] ?? 0;
};
