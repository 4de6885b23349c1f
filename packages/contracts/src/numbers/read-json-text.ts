import { numberOf, numberProblem, type ExactNumber } from './exact-number.ts';
import { rewrittenNumbers, type NumberInText } from './rewritten-numbers.ts';

export type JsonValue = null | boolean | number | ExactNumber | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

export type ReadJsonText =
  | { readonly kind: 'json'; readonly value: JsonValue }
  /** `why` is the rest of a sentence. `position`: where in the text, if that is known. */
  | {
      readonly kind: 'invalid';
      readonly problem: 'syntax' | 'number' | 'depth';
      readonly why: string;
      readonly position: number | undefined;
    };

/**
 * The one reader of JSON that users send or programs print. No number is rounded: what a double would write differently is an
 * ExactNumber. A number beyond the range of a double is refused, as is one of more than 400 characters.
 */
export const readJsonText = (text: string): ReadJsonText => {
  let value: JsonValue;
  try {
    // It returns nothing else.
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return { kind: 'invalid', problem: 'syntax', why: 'it is not valid JSON', position: positionIn(error) };
  }
  const exact = rewrittenNumbers(text);
  return exact.length === 0 ? { kind: 'json', value } : withExact(text, exact);
};

const withExact = (text: string, exact: readonly NumberInText[]): ReadJsonText => {
  for (const number of exact) {
    const why = numberProblem(number.text);
    if (why !== undefined) return { kind: 'invalid', problem: 'number', why, position: number.index };
  }
  try {
    return { kind: 'json', value: JSON.parse(text, exactly) as JsonValue };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { kind: 'invalid', problem: 'depth', why: 'it nests too deeply', position: undefined };
  }
};

/** Engines that have no ExactNumber give no `source` either. */
const exactly = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? numberOf(context?.source ?? String(value)) : value;

const positionIn = (error: unknown): number | undefined => {
  const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
  return position === undefined ? undefined : Number(position);
};
