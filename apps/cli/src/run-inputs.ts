import { Explained } from './explained.ts';

/**
 * The inputs of `--inputs JSON` and of each `--input name=value`, which wins. A value that is a JSON number, boolean,
 * text in quotes or array is taken as such; anything else is a text.
 * @throws Explained
 */
export const readInputs = (json: string | undefined, pairs: readonly string[]): Record<string, unknown> => {
  const inputs = new Map(json === undefined ? [] : Object.entries(parseObject(json)));
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw new Explained(
        `--input ${pair} has no name and value. Write --input name=value, such as --input size=512.`,
      );
    inputs.set(pair.slice(0, at), valueOf(pair.slice(at + 1)));
  }
  return Object.fromEntries(inputs);
};

const valueOf = (text: string): unknown => {
  const value = parse(text);
  return typeof value === 'number' ||
    typeof value === 'boolean' ||
    typeof value === 'string' ||
    Array.isArray(value)
    ? value
    : text;
};

const parseObject = (json: string): Record<string, unknown> => {
  const value = parse(json);
  if (isObject(value)) return value;
  throw new Explained(`--inputs is not a JSON object. Write --inputs '{"size": 512, "palette": "ember"}'.`);
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
