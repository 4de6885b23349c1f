import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { TValidationError } from 'typebox/error';
import { isJsonObject, type JsonValue } from '@runledger/contracts/json';

/** Whether a value fits a schema. */
export const fits = (schema: Node, value: unknown): boolean => compiledSchema(schema).Check(value);

/** The errors of typebox for a value that does not fit. For a value with many members the list is incomplete. */
export const errorsOf = (schema: Node, value: unknown): readonly TValidationError[] =>
  compiledSchema(schema).Errors(value);

/** A part of a JSON schema or of JSON. The schemas of typebox are plain JSON. */
export type Node = Readonly<Record<string, unknown>>;

export const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** A JSON object: neither an array nor a number. */
export const isRecord = (value: unknown): value is Node => isJsonObject(value);

/** Own members only: `constructor` is an ordinary name. */
export function own(container: JsonValue | undefined, name: string): JsonValue | undefined;
export function own(container: unknown, name: string): unknown;
export function own(container: unknown, name: string): unknown {
  return isNode(container) && Object.hasOwn(container, name) ? container[name] : undefined;
}
