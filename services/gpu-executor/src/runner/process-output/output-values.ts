import { JSON_KIND } from '@runledger/contracts/events/run-event-data';

/** Kinds of output with their values, in the order written. */
export type OutputEntries = [kind: string, values: string[]][];

/**
 * A value as the data of a run has it: a text as it is, and any other JSON value as JSON. Under the kind `json` a text is a JSON value as well:
 * there the run shows values as they are.
 */
export const dataText = (kind: string, value: unknown): string =>
  typeof value === 'string' && kind !== JSON_KIND ? value.toWellFormed() : JSON.stringify(value);

/** Values without a kind: texts are of the kind `text`, or `urls` if they are that, and anything else is of the kind `json`. */
export const unnamedEntries = (values: readonly unknown[]): OutputEntries => {
  const entries = new Map<string, string[]>();
  const areTexts = values.every((value) => typeof value === 'string');
  for (const value of values) {
    const kind = !areTexts ? JSON_KIND : URL_TEXT.test(String(value)) ? 'urls' : 'text';
    entries.set(kind, [...(entries.get(kind) ?? []), dataText(kind, value)]);
  }
  return [...entries];
};

const URL_TEXT = /^https?:\/\/\S+$/i;
