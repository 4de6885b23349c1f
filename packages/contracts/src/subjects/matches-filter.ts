/** Whether a NATS filter covers a subject: `*` is one token, `>` at the end one or more. */
export const matchesFilter = (filter: string, subject: string): boolean => {
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  const isOpen = wanted.at(-1) === '>';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? tokens.length <= fixed.length : tokens.length !== fixed.length) return false;
  return fixed.every((token, at) => token === '*' || token === tokens[at]);
};

/** Whether one of these filters covers a subject. No filters cover every subject. */
export const matchesAny = (filters: readonly string[], subject: string): boolean =>
  filters.length === 0 || filters.some((filter) => matchesFilter(filter, subject));
