import type { JsonValue } from '@runledger/contracts/json';

/**
 * The one text of a JSON value: names in the order of their UTF-16 code units, no white space, numbers and texts as
 * JavaScript writes them (RFC 8785). For values of little depth: it is recursive.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
};
