import { parseJson, isJsonObject } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { uploadFile } from '../files/upload-file.ts';
import { CommandError } from '../output/command-error.ts';
import type { ReadJsonFile } from '../options/json-files.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';

export interface InputOptions {
  /** Each `name=value`. */
  readonly input: readonly string[];
  /** JSON, or a file with it. */
  readonly inputs?: string;
}

type Inputs = Readonly<Record<string, unknown>>;

/**
 * The inputs of `--inputs`, changed by each `--input name=value`; undefined without both options. A value that is a JSON
 * number, boolean, quoted text or array has that type. `@` and a path is a file, which is uploaded. Any other value is a text. Files that are
 * given one after the other under the same name are a list, and so is each `name[]=value`, also alone.
 * @throws CommandError
 */
export const givenInputs = async (
  { inputs, input }: InputOptions,
  client: Client,
): Promise<Inputs | undefined> => {
  if (inputs === undefined && input.length === 0) return undefined;
  return withPairs(inputs === undefined ? {} : await allInputs(inputs, client.readJsonFile), input, client);
};

/** The inputs of a rerun. Without `--inputs`, single options change the inputs of the original run. */
export const changedInputs = async (
  options: InputOptions,
  client: Client,
  run: string,
): Promise<Inputs | undefined> => {
  const { inputs, input } = options;
  if (inputs !== undefined || input.length === 0) return givenInputs(options, client);
  const { api, screen } = client;
  const { workflow_inputs } = await retryForAMinute(() => api.inputsOf(run), screen);
  // Secrets are shown as null. The new run keeps those that are left out.
  const shown = Object.fromEntries(Object.entries(workflow_inputs).filter(([, value]) => value !== null));
  return withPairs(shown, input, client);
};

const withPairs = async (inputs: Inputs, pairs: readonly string[], client: Client): Promise<Inputs> => {
  const given = new Map<string, Given>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw new CommandError(
        `--input ${pair} is not name=value. Write --input name=value, such as --input size=512.`,
      );
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const isItem = name.length > ITEM.length && name.endsWith(ITEM);
    const isFile = text.startsWith('@');
    const value = isFile ? (await uploadFile(client, text.slice(1))).id : valueOf(text);
    const key = isItem ? name.slice(0, -ITEM.length) : name;
    const before = given.get(key);
    const isNext = before !== undefined && (isItem ? before.isList : isFile && before.isFile);
    given.set(key, {
      values: isNext ? [...before.values, value] : [value],
      isList: isItem || isNext,
      isFile,
    });
  }
  const values = [...given].map(
    ([name, each]) => [name, each.isList ? each.values : each.values[0]] as const,
  );
  return Object.fromEntries([...Object.entries(inputs), ...values]);
};

/** What single options say of an input. */
interface Given {
  readonly values: readonly unknown[];
  readonly isList: boolean;
  /** The last value is one. */
  readonly isFile: boolean;
}

/** After the name of an input: the value is an item of a list. */
const ITEM = '[]';

const valueOf = (text: string): unknown => {
  const value = parseJson(text);
  return typeof value === 'number' ||
    typeof value === 'boolean' ||
    typeof value === 'string' ||
    Array.isArray(value)
    ? value
    : text;
};

const allInputs = async (given: string, readJsonFile: ReadJsonFile): Promise<Inputs> => {
  const isJson = /^\s*[[{]/.test(given);
  const value = isJson ? parseJson(given) : await readJsonFile('--inputs', given);
  if (isJsonObject(value)) return value;
  throw new CommandError(
    `--inputs is not a JSON object. Write --inputs '{"size": 512, "palette": "ember"}', or name a file with it.`,
  );
};
