import type { JsonValue } from '@runledger/contracts/json';
import { compareNumbers } from '@runledger/contracts/numbers/compare-numbers';
import { doubleOf, isExactNumber, type ExactNumber } from '@runledger/contracts/numbers/exact-number';
import type { TSchema } from 'typebox';
import { fits } from './compiled.ts';
import { isNode, isRecord, type Node } from './node.ts';

/**
 * A body with doubles where its schema wants them: `5.0` of a member that is an integer is 5. What users define themselves stays as they
 * wrote it, such as inputs, and so does a number that a double would change, which then does not fit.
 */
export const withDoubles = (schema: TSchema, body: JsonValue): JsonValue =>
  // The schemas of typebox are plain JSON.
  fits(schema as Node, body) ? body : replaced(schema, body);

const replaced = (schema: unknown, value: JsonValue): JsonValue => {
  if (!isNode(schema) || typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return fits(schema, value) ? value : sameDouble(value);
  const branches: unknown = schema['anyOf'];
  if (Array.isArray(branches))
    return branches.reduce<JsonValue>((part, branch) => replaced(branch, part), value);
  const { items, properties, additionalProperties } = schema;
  if (Array.isArray(value)) return isNode(items) ? value.map((item) => replaced(items, item)) : value;
  const described = isNode(properties) ? properties : {};
  if (!isRecord(value)) return value;
  // Entries, because `__proto__` is an ordinary name.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      replaced(Object.hasOwn(described, name) ? described[name] : additionalProperties, member),
    ]),
  );
};

const sameDouble = (value: ExactNumber): number | ExactNumber => {
  const double = doubleOf(value) ?? 0;
  return compareNumbers(value, double) === 0 ? double : value;
};
