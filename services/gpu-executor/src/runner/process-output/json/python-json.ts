import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { jsonTokens } from './json-tokens.ts';

/**
 * Reads JSON as Python writes it: `NaN`, `Infinity` and `-Infinity`, which JSON does not have, become texts of these words, so that nobody takes
 * them for a number and nothing is lost. Undefined for any other text that is not JSON.
 */
export const parsePythonJson = (text: string): unknown => {
  const value = parseJson(text);
  return value === undefined && NOT_A_NUMBER.test(text) ? parseJson(withWords(text)) : value;
};

const NOT_A_NUMBER = /NaN|Infinity/;
const WORDS = new Set(['NaN', 'Infinity', '-Infinity']);

/** Whether text that is not JSON has a number that JSON does not have. */
export const hasPythonNumber = (text: string): boolean =>
  NOT_A_NUMBER.test(text) && [...jsonTokens(text)].some((token) => WORDS.has(token.text));

const withWords = (text: string): string => {
  const kept: string[] = [];
  let from = 0;
  for (const token of jsonTokens(text)) {
    if (!WORDS.has(token.text)) continue;
    kept.push(text.slice(from, token.at), `"${token.text}"`);
    from = token.at + token.text.length;
  }
  return kept.join('') + text.slice(from);
};

/** Undefined for text that is not a JSON object of Python. */
export const parsePythonObject = (text: string): Record<string, unknown> | undefined => {
  // Most lines are not messages, and a program may write many of them.
  if (!/^\s*\{/.test(text)) return undefined;
  const value = parsePythonJson(text);
  return isJsonObject(value) ? value : undefined;
};
