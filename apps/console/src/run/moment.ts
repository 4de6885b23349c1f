/**
 * The moment at which a page shows its run, in the address of the page: the fact at a position in the log, and another one to compare
 * with. Without `at` it shows the run as it is.
 */
export interface Moment {
  readonly at?: number;
  readonly from?: number;
}

export const momentIn = (query: Readonly<Record<string, unknown>>): Moment => {
  const position = (name: string): number | undefined => {
    const value = Number(query[name] ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const [at, from] = [position('at'), position('from')];
  return { ...(at !== undefined && { at, ...(from !== undefined && { from }) }) };
};
