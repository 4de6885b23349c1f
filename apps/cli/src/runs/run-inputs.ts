import { isJsonObject, readJsonText } from '@runledger/contracts/json';
import { isJsonNumber } from '@runledger/contracts/exact-number';
import { isUuid } from '@runledger/contracts/ids';
import { at, retryForAMinute, type ApiCall } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { RunInputs, RunResponse } from './run-response.ts';
import { uploadFile } from './files.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { readJsonOption, type ReadJsonFile } from '../command/option-values.ts';
import { Unavailable } from '../api/api-problem.ts';
import { deployments } from '../catalogue/deployments.ts';
import { recordNamed } from '../catalogue/named-records.ts';
import { readRecord } from '../catalogue/records.ts';
import { versionsOf } from '../catalogue/workflows.ts';

export interface InputOptions {
  /** Each `name=value`. */
  readonly input: readonly string[];
  /** JSON, or a file with it. */
  readonly inputs?: string;
}

type Inputs = Readonly<Record<string, unknown>>;

/** Where inputs are from. */
export interface InputSources {
  readonly readJsonFile: ReadJsonFile;
  /** What a run has for a file of this machine: its id. @throws CommandError */
  readonly fileId: (path: string) => Promise<string>;
}

/** For runs of a server: their files are uploaded. */
export const uploading = (client: Client): InputSources => ({
  readJsonFile: client.readJsonFile,
  fileId: async (path) => (await uploadFile(client, path)).id,
});

/**
 * The inputs of `--inputs`, changed by each `--input name=value`; undefined without both options. A value that is a JSON
 * number, boolean, quoted text or array has that type. `@` and a path is a file. Any other value is a text. So is each
 * value of an input that is declared as a string, without its quotes if it has them: `declared` is asked when a value can be read as something
 * else. Files that are given one after the other under the same name are a list, and so is each `name[]=value`, also alone.
 * @throws CommandError
 */
export const givenInputs = async (
  { inputs, input }: InputOptions,
  sources: InputSources,
  declared: () => Promise<DeclaredTypes>,
): Promise<Inputs | undefined> => {
  if (inputs === undefined && input.length === 0) return undefined;
  const all = inputs === undefined ? {} : await allInputs(inputs, sources.readJsonFile);
  return withPairs(all, { pairs: input, declared }, sources);
};

/** The inputs of a rerun. Without `--inputs`, single options change the inputs of the original run. */
export const changedInputs = async (
  options: InputOptions,
  client: Client,
  run: string,
): Promise<Inputs | undefined> => {
  const { inputs, input } = options;
  const declared = (): Promise<DeclaredTypes> => typesOfRun(client, run);
  if (inputs !== undefined || input.length === 0) return givenInputs(options, uploading(client), declared);
  const { call, screen } = client;
  const { workflow_inputs } = await retryForAMinute(
    () => call(RunInputs, { method: 'GET', path: at`/run/${run}`, query: { include: 'inputs' } }),
    screen,
  );
  // Secrets are shown as null. The new run keeps those that are left out.
  const shown = Object.fromEntries(Object.entries(workflow_inputs).filter(([, value]) => value !== null));
  return withPairs(shown, { pairs: input, declared }, uploading(client));
};

interface Pairs {
  readonly pairs: readonly string[];
  readonly declared: () => Promise<DeclaredTypes>;
}

const withPairs = async (
  inputs: Inputs,
  { pairs, declared }: Pairs,
  { fileId }: InputSources,
): Promise<Inputs> => {
  const given = new Map<string, Given>();
  const types = pairs.some((pair) => isMoreThanText(pair)) ? await declared() : undefined;
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw new CommandError(
        `--input ${pair} is not name=value. Write --input name=value, such as --input size=512.`,
      );
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const isItem = name.length > ITEM.length && name.endsWith(ITEM);
    const key = isItem ? name.slice(0, -ITEM.length) : name;
    const isText = types?.get(name) === 'string';
    const isFile = !isText && text.startsWith('@');
    const value = isText ? textOf(text) : isFile ? await fileId(text.slice(1)) : valueOf(pair, text);
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

/** Whether its value can be read as something else than the text that it is. */
const isMoreThanText = (pair: string): boolean => {
  const text = pair.slice(pair.indexOf('=') + 1);
  const read = readJsonText(text);
  return text.startsWith('@') || read.kind === 'json' || read.problem === 'number';
};

const textOf = (text: string): string => {
  const read = readJsonText(text);
  return read.kind === 'json' && typeof read.value === 'string' ? read.value : text;
};

const valueOf = (pair: string, text: string): unknown => {
  const read = readJsonText(text);
  if (read.kind === 'invalid' && read.problem === 'number')
    throw new CommandError(
      `--input ${plain(pair)}: ${plain(read.why)}. Put it into quotes to send it as a text: '${plain(pair).replace('=', '="')}"'.`,
    );
  const value = read.kind === 'json' ? read.value : undefined;
  return isJsonNumber(value) ||
    typeof value === 'boolean' ||
    typeof value === 'string' ||
    Array.isArray(value)
    ? value
    : text;
};

const allInputs = async (given: string, readJsonFile: ReadJsonFile): Promise<Inputs> => {
  const isJson = /^\s*[[{]/.test(given);
  const value = isJson
    ? readJsonOption(given, '--inputs', 'the text')
    : await readJsonFile('--inputs', given);
  if (isJsonObject(value)) return value;
  throw new CommandError(
    `--inputs is not a JSON object. Write --inputs '{"size": 512, "palette": "ember"}', or name a file with it.`,
  );
};

/** The types of inputs by their names, as a version declares them. */
type DeclaredTypes = ReadonlyMap<string, string>;

interface NamedVersion {
  readonly workflow_id?: string;
  readonly workflow_version_id?: string;
}

/** Of the version that a deployment has now, or of the one behind its name. */
export const typesOfDeployment = (client: Client, given: string): Promise<DeclaredTypes> =>
  unlessRefused(client, async () => typesOf(client, await versionMeant(client.call, given)));

const versionMeant = async (call: ApiCall, given: string): Promise<NamedVersion> => {
  const id = given.toLowerCase();
  if (isUuid(id)) return readRecord(call, deployments, id);
  const named = (name: string) => recordNamed(call, deployments, { name, archived: false });
  const exact = await named(given);
  if (exact) return exact;
  const { name, number } = /^(?<name>.+)@(?<number>\d+)$/s.exec(given)?.groups ?? {};
  const deployment = name === undefined ? undefined : await named(name);
  if (!deployment || number === undefined) return {};
  const { workflow_id } = deployment;
  return { workflow_id, workflow_version_id: await versionsOf(workflow_id).idOf(call, number) };
};

/** Of the version that a run has. */
const typesOfRun = (client: Client, run: string): Promise<DeclaredTypes> =>
  unlessRefused(client, async () =>
    typesOf(client, await client.call(RunResponse, { method: 'GET', path: at`/run/${run}` })),
  );

const typesOf = async (
  { call }: Client,
  { workflow_id, workflow_version_id }: NamedVersion,
): Promise<DeclaredTypes> => {
  if (workflow_id === undefined || workflow_version_id === undefined) return new Map();
  const { inputs } = await readRecord(call, versionsOf(workflow_id), workflow_version_id);
  return new Map(inputs.map(({ name, type }) => [name, type]));
};

/** Without them a value has the type that it looks like. What is wrong, the request that follows is refused for. */
const unlessRefused = async (
  { screen }: Client,
  read: () => Promise<DeclaredTypes>,
): Promise<DeclaredTypes> => {
  try {
    return await retryForAMinute(read, screen);
  } catch (error) {
    if (error instanceof CommandError && !(error instanceof Unavailable)) return new Map();
    throw error;
  }
};
