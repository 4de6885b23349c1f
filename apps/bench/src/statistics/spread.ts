import { quantile } from '@runledger/testing/measuring/quantile';

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
