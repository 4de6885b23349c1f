/** Under which a bare log stores its messages. */
export const STORED = 'fact';
/** Under which the broker delivers them. */
const DELIVERED = 'delivered';

export const storedAs = (fact: string, run: number | string): string => `${STORED}.${fact}.${run}`;
/** Where those of a fact, or all of them (`>`), are delivered. */
export const deliveredAs = (fact: string): string => `${DELIVERED}.${fact === '>' ? 'all' : fact}`;

/** What a stored message says, by its subject. */
export const factOf = (subject: string): { readonly fact: string; readonly run: string } => {
  const [, fact = '', run = ''] = subject.split('.');
  return { fact, run };
};
