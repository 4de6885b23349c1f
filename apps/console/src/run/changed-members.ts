/** The members of two views of a run whose values differ, in the order of the later one. */
export const changedMembers = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): ReadonlySet<string> =>
  new Set(Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])));
