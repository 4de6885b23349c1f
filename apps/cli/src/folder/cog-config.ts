import { isJsonObject, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { parse, YAMLParseError } from 'yaml';
import { CommandError, plain } from '../command/command-error.ts';

export const COG_FILE = 'cog.yaml';

/**
 * What `cog.yaml` says, in the words of `runledger.toml`: the predictor, its Python and its packages. What makes the image of Cog and no executor can
 * make is refused. @throws CommandError
 */
export const cogTable = (text: string, name: string): JsonObject => {
  const config = parsed(text);
  const build = isJsonObject(config['build']) ? config['build'] : {};
  const cannot = [...unavailable(build)];
  if (typeof config['predict'] !== 'string') cannot.unshift(NO_PREDICTOR);
  if (cannot.length > 0)
    throw new CommandError(
      [`${COG_FILE} cannot be deployed as it is:`, ...cannot.map((each) => `  ${each}`)].join('\n'),
    );
  const { python_version: python, python_requirements: requirements, gpu } = build;
  return {
    name,
    run: config['predict'] as string,
    ...(python === undefined ? {} : { python: minorOf(python as JsonValue) }),
    ...(requirements === undefined ? {} : { requirements: requirements as JsonValue }),
    ...(gpu === true ? {} : { gpu: 'CPU' }),
    ...(Array.isArray(config['environment']) ? { env: variablesOf(config['environment']) } : {}),
  };
};

const NO_PREDICTOR = 'predict: Write the predictor, such as predict: "predict.py:Predictor"';

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new CommandError(`${COG_FILE} is not valid YAML: ${plain(error.message.split('\n')[0] ?? '')}`);
  }
  throw new CommandError(`${COG_FILE} has no members. Write predict: "predict.py:Predictor" into it.`);
};

const listed = (value: unknown): string => (Array.isArray(value) ? value.map(String).join(', ') : '');

const unavailable = (build: Readonly<Record<string, unknown>>): string[] => {
  const { system_packages: system, run, python_packages: packages } = build;
  return [
    ...(listed(system) === ''
      ? []
      : [
          `build.system_packages: An executor installs no packages of the system. Take out what the machines have (${plain(listed(system))}), or run the model's own server with EXECUTOR_COG`,
        ]),
    ...(Array.isArray(run) && run.length > 0
      ? [
          'build.run: An executor runs no commands of an image. Do their work in setup(), or name files as [models] of runledger.toml',
        ]
      : []),
    ...(listed(packages) === ''
      ? []
      : [
          'build.python_packages: Write them into requirements.txt, and name it: python_requirements: requirements.txt',
        ]),
  ];
};

/** `3.11` of `3.11.4`, also where YAML reads a number: 3.1 is what is left of 3.10. */
const minorOf = (version: JsonValue): JsonValue => {
  if (typeof version !== 'string') return version;
  return /^(\d+\.\d+)\.\d+$/.exec(version)?.[1] ?? version;
};

const variablesOf = (entries: readonly unknown[]): JsonObject =>
  Object.fromEntries(
    entries.map(String).map((entry) => {
      const at = entry.indexOf('=');
      return at < 1 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
