import { RunledgerError } from '../errors/errors.ts';

type Value = string | number | boolean;

/** Undefined and null are left out; a list is a pair for each of its values. */
export type Query = Readonly<Record<string, Value | readonly Value[] | null | undefined>>;

/** A path of the document with its parameters and a query. @throws RunledgerError for a missing parameter */
export const addressOf = (
  path: string,
  params: Readonly<Record<string, Value | undefined>> = {},
  query: Query = {},
): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    // An empty one would be another address.
    if (value === undefined || value === '')
      throw new RunledgerError(`${path} needs ${name}. Give it as params: { ${name}: … }.`);
    return encodeURIComponent(value);
  });
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(each)}`),
  );
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
};
