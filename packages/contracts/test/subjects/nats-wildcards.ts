/** Whether NATS gives a message of the subject to a subscriber with the filter: `*` is one token, a last `>` one or more. */
export const matches = (filter: string, subject: string): boolean => {
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  const open = wanted.at(-1) === '>';
  const fixed = open ? wanted.slice(0, -1) : wanted;
  if (open ? tokens.length <= fixed.length : tokens.length !== fixed.length) return false;
  return fixed.every((token, at) => token === '*' || token === tokens[at]);
};
