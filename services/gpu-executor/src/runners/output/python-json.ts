import { isJsonObject, parseJson } from '@runledger/contracts/json';

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

/** One piece of JSON text: a bracket, a comma, a colon, a string with its quotes, or a word, which a number is too. */
export interface JsonToken {
  readonly text: string;
  /** Where it begins. */
  readonly at: number;
}

const SPACE = /\s*/y;
const TOKEN = /[{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+/y;

/**
 * The tokens at the beginning of a text, as far as it has any: the last one ends at `end` of the result. Words are not looked at: in Python's
 * JSON there are `NaN` and the infinities.
 */
function* jsonTokens(text: string): Generator<JsonToken, { readonly end: number }> {
  for (let at = afterSpace(text, 0); ;) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return { end: at };
    yield { text: token, at };
    at = afterSpace(text, at + token.length);
  }
}

const afterSpace = (text: string, from: number): number => {
  SPACE.lastIndex = from;
  SPACE.exec(text);
  return SPACE.lastIndex;
};

/**
 * The members of the outermost object of a text that begins like JSON, each with the first token of its value, up to where the text is no JSON
 * any more.
 */
export const beginningMembers = (text: string): ReadonlyMap<string, string> => {
  const members = new Map<string, string>();
  let depth = 0;
  let before = '';
  let name: string | null = null;
  for (const { text: token } of jsonTokens(text)) {
    if (name !== null && before === ':') members.set(name, token);
    if (token === ':' && depth === 1) name = before.startsWith('"') ? before.slice(1, -1) : null;
    else name = null;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    before = token;
  }
  return members;
};

const WORD = /^(?:-?\d[-+.\w]*|true|false|null|NaN|-?Infinity)$/;

/** How much deeper a text ends than it begins; null when it is no piece of JSON that was cut between two tokens. */
export const depthOfPiece = (text: string): number | null => {
  const tokens = jsonTokens(text);
  let depth = 0;
  for (let step = tokens.next(); ; step = tokens.next()) {
    if (step.done) return step.value.end === text.length ? depth : null;
    const token = step.value.text;
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (/^[-+.\w]/.test(token) && !WORD.test(token)) return null;
  }
};
