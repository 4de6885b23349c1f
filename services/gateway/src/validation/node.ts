import type { JsonValue } from '@runledger/contracts/json';

/** A part of a JSON schema, or of JSON: what typebox makes is plain JSON. */
export type Node = Readonly<Record<string, unknown>>;

export const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** An object of JSON, which an array is not. */
export const isRecord = (value: unknown): value is Node => isNode(value) && !Array.isArray(value);

/** Its own members only: `constructor` is a name as any other. */
export function own(container: JsonValue | undefined, name: string): JsonValue | undefined;
export function own(container: unknown, name: string): unknown;
export function own(container: unknown, name: string): unknown {
  return isNode(container) && Object.hasOwn(container, name) ? container[name] : undefined;
}
