/** With separators, and no more digits than a measurement knows. */
export const threeDigits = (value: number): string =>
  Number(value.toPrecision(3)).toLocaleString('en-GB', { maximumSignificantDigits: 3 });
