import { readFileSync, statSync } from 'node:fs';
import { type Type, IsOptional } from 'typebox';
import { Value } from 'typebox/value';
import { messageOf } from '@runledger/resilience/errors';
import { expected, keyword, readValue, written } from './config-schemas.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigProblem {
  readonly variable: string;
  readonly wrong: string;
  readonly right: string;
}

/** All problems of an environment at once. The message is for people and holds no secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'config_invalid';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
    const lines = problems.map(
      ({ variable, wrong, right }) => `  ${variable} ${wrong}. It should be ${right}.`,
    );
    super([`the configuration has ${count}:`, ...lines].join('\n'));
    this.problems = problems;
  }
}

/** The first problems, and of the others those with a variable that the first ones do not name. */
export const joinProblems = (
  first: readonly ConfigProblem[],
  others: readonly ConfigProblem[],
): ConfigProblem[] => {
  const named = new Set(first.map(({ variable }) => variable));
  return [...first, ...others.filter(({ variable }) => !named.has(variable))];
};

/** The problems that `read` throws; none when it succeeds. */
export const problemsOf = async (read: () => unknown): Promise<readonly ConfigProblem[]> => {
  try {
    await read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

/**
 * Reads the environment variables that the properties of `schema` name.
 * An unset variable takes the schema's `default`, is left out when optional, and is a problem otherwise.
 * @throws {ConfigError} with all problems
 */
export const readConfig = <Schema extends Type.TObject>(
  schema: Schema,
  env: Environment,
): Type.Static<Schema> => {
  const { values, problems } = inspectConfig(schema, env);
  if (problems.length > 0) throw new ConfigError(problems);
  if (!Value.Check(schema, values)) {
    const where = Value.Errors(schema, values).map((error) => `${error.instancePath} ${error.message}`);
    throw new TypeError(`A default of the configuration schema violates the schema: ${where.join('; ')}`);
  }
  return values;
};

interface InspectedConfig<Schema extends Type.TObject> {
  /** Without the settings that are wrong, absent or not set. */
  readonly values: Readonly<Partial<Type.Static<Schema>>>;
  readonly problems: readonly ConfigProblem[];
}

/** As `readConfig`, for rules beyond the schema: they are checked too when other settings are wrong, so that all is told at once. */
export const inspectConfig = <Schema extends Type.TObject>(
  schema: Schema,
  env: Environment,
): InspectedConfig<Schema> => {
  const values: Record<string, unknown> = {};
  const problems: ConfigProblem[] = [];
  for (const [variable, setting] of Object.entries(schema.properties)) {
    const read = readSetting(variable, setting, env);
    switch (read.kind) {
      case 'value':
        values[variable] = read.value;
        break;
      case 'absent':
        break;
      case 'problem':
        problems.push({ variable: read.variable, wrong: read.wrong, right: whatIsRight(setting) });
    }
  }
  // Each value has passed its own schema.
  return { values: values as Partial<Type.Static<Schema>>, problems };
};

export interface SettingRow {
  readonly name: string;
  /** As written in the environment. */
  readonly default: string | undefined;
  readonly required: boolean;
  readonly description: string;
  readonly secret: boolean;
}

/** One row for each variable, in the schema's order, for generated documentation. */
export const describeConfig = (schema: Type.TObject): SettingRow[] =>
  Object.entries(schema.properties).map(([name, setting]) => {
    const preset = keyword(setting, 'default');
    const secret = isSecret(setting);
    return {
      name,
      default: preset === undefined || secret ? undefined : written(preset),
      required: preset === undefined && !IsOptional(setting),
      description: description(setting),
      secret,
    };
  });

type Setting =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'problem'; readonly variable: string; readonly wrong: string };

const readSetting = (variable: string, setting: Type.TSchema, env: Environment): Setting => {
  const direct = env[variable];
  const isSet = direct !== undefined && (direct !== '' || keyword(setting, 'emptyIsValue') === true);
  const fileVariable = `${variable}_FILE`;
  const path = isSecret(setting) ? env[fileVariable] : undefined;
  if (path !== undefined && path !== '') {
    if (isSet)
      return { kind: 'problem', variable, wrong: `is set, and so is ${fileVariable}: unset one of them` };
    const file = readSecretFile(path);
    return file.ok
      ? convertSetting(fileVariable, setting, file.text)
      : { kind: 'problem', variable: fileVariable, wrong: file.wrong };
  }
  if (isSet) return convertSetting(variable, setting, direct);
  const preset = keyword(setting, 'default');
  if (preset !== undefined) return { kind: 'value', value: preset };
  return IsOptional(setting) ? { kind: 'absent' } : { kind: 'problem', variable, wrong: 'is not set' };
};

const convertSetting = (variable: string, setting: Type.TSchema, text: string): Setting => {
  const read = readValue(setting, text);
  if (read.ok) return { kind: 'value', value: read.value };
  return { kind: 'problem', variable, wrong: `${shown(setting, text)}${read.wrong}` };
};

/** A value with an at sign may be a URL with a password, even a malformed one. */
const shown = (setting: Type.TSchema, text: string): string =>
  isSecret(setting) || text.includes('@') ? '' : `= ${JSON.stringify(text.slice(0, 80))} `;

type SecretFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly wrong: string };

const MAX_SECRET_BYTES = 64 * 1024;

const readSecretFile = (path: string): SecretFile => {
  try {
    const file = statSync(path);
    if (!file.isFile()) return { ok: false, wrong: `names ${path}, which is not a file` };
    if (file.size > MAX_SECRET_BYTES)
      return { ok: false, wrong: `names ${path}, which is larger than 64 KiB` };
    const text = readFileSync(path, 'utf8').trim();
    return text === '' ? { ok: false, wrong: `names ${path}, which is empty` } : { ok: true, text };
  } catch (error) {
    const why = messageOf(error);
    return { ok: false, wrong: `names a file that cannot be read (${why})` };
  }
};

const isSecret = (setting: Type.TSchema): boolean => keyword(setting, 'secret') === true;

const description = (setting: Type.TSchema): string => {
  const text = keyword(setting, 'description');
  return typeof text === 'string' ? text : '';
};

const whatIsRight = (setting: Type.TSchema): string => {
  const purpose = description(setting);
  return purpose === '' ? expected(setting) : `${expected(setting)} (${purpose})`;
};
