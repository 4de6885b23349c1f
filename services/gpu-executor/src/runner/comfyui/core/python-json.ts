import { parseJson } from '@runledger/contracts/json';

/**
 * Reads JSON as Python writes it: NaN and the infinities, which JSON does not have, become null. Undefined for any other text
 * that is not JSON.
 */
export const parsePythonJson = (text: string): unknown =>
  parseJson(text) ?? (NOT_A_NUMBER.test(text) ? parseJson(withoutSpecialNumbers(text)) : undefined);

const NOT_A_NUMBER = /NaN|Infinity/;
const TOKENS = /"|NaN|-?Infinity/g;
const IN_STRING = /["\\]/g;

const withoutSpecialNumbers = (text: string): string => {
  const kept: string[] = [];
  let from = 0;
  TOKENS.lastIndex = 0;
  for (let token = TOKENS.exec(text); token !== null; token = TOKENS.exec(text)) {
    if (token[0] === '"') TOKENS.lastIndex = endOfString(text, TOKENS.lastIndex);
    else {
      kept.push(text.slice(from, token.index), 'null');
      from = TOKENS.lastIndex;
    }
  }
  return kept.join('') + text.slice(from);
};

/** The index after the quote that ends the string which begins at `from`. */
const endOfString = (text: string, from: number): number => {
  IN_STRING.lastIndex = from;
  for (let found = IN_STRING.exec(text); found !== null; found = IN_STRING.exec(text)) {
    if (found[0] === '"') return IN_STRING.lastIndex;
    IN_STRING.lastIndex += 1;
  }
  return text.length;
};
