import type { JsonObject, JsonValue } from '@runledger/contracts/json';
import { invalid, Refused, type Invalid } from './problem.ts';

export const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Its own members only: `constructor` is a name as any other. */
export const member = (body: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(body, name) ? body[name] : undefined;

export const refuse: (problems: readonly Invalid[]) => never = (problems) => {
  throw new Refused({ kind: 'invalid', problems });
};

/** The body as an object; refuses any other. */
export const bodyObject = (body: JsonValue): JsonObject =>
  isObject(body)
    ? body
    : refuse([
        invalid(
          ['body'],
          'model_attributes_type',
          'Input should be a valid dictionary or object to extract fields from',
        ),
      ]);
