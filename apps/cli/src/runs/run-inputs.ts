import { parseJson, isJsonObject } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { uploadFile } from '../files/upload-file.ts';
import { typesOfRun, type DeclaredTypes } from '../catalogue/declared-types.ts';
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
 * number, boolean, quoted text or array has that type. `@` and a path is a file, which is uploaded. Any other value is a text. So is each
 * value of an input that is declared as a string, without its quotes if it has them: `declared` is asked when a value can be read as something else.
 * @throws CommandError
 */
export const givenInputs = async (
  { inputs, input }: InputOptions,
  client: Client,
  declared: () => Promise<DeclaredTypes>,
): Promise<Inputs | undefined> => {
  if (inputs === undefined && input.length === 0) return undefined;
  const all = inputs === undefined ? {} : await allInputs(inputs, client.readJsonFile);
  return withPairs(all, { pairs: input, declared }, client);
};

/** The inputs of a rerun. Without `--inputs`, single options change the inputs of the original run. */
export const changedInputs = async (
  options: InputOptions,
  client: Client,
  run: string,
): Promise<Inputs | undefined> => {
  const { inputs, input } = options;
  const declared = (): Promise<DeclaredTypes> => typesOfRun(client, run);
  if (inputs !== undefined || input.length === 0) return givenInputs(options, client, declared);
  const { api, screen } = client;
  const { workflow_inputs } = await retryForAMinute(() => api.inputsOf(run), screen);
  // Secrets are shown as null. The new run keeps those that are left out.
  const shown = Object.fromEntries(Object.entries(workflow_inputs).filter(([, value]) => value !== null));
  return withPairs(shown, { pairs: input, declared }, client);
};

interface Pairs {
  readonly pairs: readonly string[];
  readonly declared: () => Promise<DeclaredTypes>;
}

const withPairs = async (inputs: Inputs, { pairs, declared }: Pairs, client: Client): Promise<Inputs> => {
  const all = new Map(Object.entries(inputs));
  const types = pairs.some((pair) => isMoreThanText(pair)) ? await declared() : undefined;
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw new CommandError(
        `--input ${pair} is not name=value. Write --input name=value, such as --input size=512.`,
      );
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (types?.get(name) === 'string') all.set(name, textOf(value));
    else
      all.set(name, value.startsWith('@') ? (await uploadFile(client, value.slice(1))).id : valueOf(value));
  }
  return Object.fromEntries(all);
};

/** Whether its value can be read as something else than the text that it is. */
const isMoreThanText = (pair: string): boolean => {
  const value = pair.slice(pair.indexOf('=') + 1);
  return value.startsWith('@') || valueOf(value) !== value;
};

const textOf = (text: string): string => {
  const value = valueOf(text);
  return typeof value === 'string' ? value : text;
};

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
