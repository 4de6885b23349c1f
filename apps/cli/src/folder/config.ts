import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  CodeManifest,
  ComfyuiManifest,
  MAX_CUSTOM_NODES,
  MAX_SECRETS,
  ModelAtUrl,
  PathInFolder,
  variableProblems,
  type CustomNode,
} from '@runledger/contracts/catalogue/code';
import { SecretName } from '@runledger/contracts/http/catalogue/secrets';
import { numberOf } from '@runledger/contracts/exact-number';
import { NewDeployment } from '@runledger/contracts/http/catalogue/deployments';
import { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import { isJsonObject, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { problemsOf } from '@runledger/gateway/door/problems';
import { didYouMean, unknownMembers } from '@runledger/gateway/door/unknown-names';
import { codeOf } from '@runledger/resilience/errors';
import { parse, TomlDate, TomlError, type TomlValue } from 'smol-toml';
import { Type, type Static, type TSchema } from 'typebox';
import { COG_FILE, cogTable } from './cog-config.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { ModelOfMachine } from './local-models.ts';

/** What a folder says of itself, in `runledger.toml`, in `[tool.runledger]` of `pyproject.toml`, or else in the `cog.yaml` of a model. */
export interface FolderConfig {
  /** For messages, such as `runledger.toml`. */
  readonly file: string;
  readonly name: string | undefined;
  /** Without `comfyui`, whose workflow is a file of the folder. */
  readonly manifest: FolderManifest;
  /** Weights that are files of this machine, by their paths among the models. The manifest has the others. */
  readonly localModels: Readonly<Record<string, ModelOfMachine>>;
  readonly comfyui: FolderComfyui | undefined;
  readonly gpu: string | undefined;
  /** Members of a deployment. Those that the file does not have are missing. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Undefined without `[inputs]`. */
  readonly inputs: NewInputDefinition[] | undefined;
}

/** All but the hash of the archive, which is not packed yet. */
export type FolderManifest = Omit<CodeManifest, 'code_sha256'>;

/** A workflow for ComfyUI, as `[comfyui]` says it. */
export interface FolderComfyui {
  /** A file of the folder. */
  readonly workflow: string;
  /** Whether its seeds are other ones for each run. */
  readonly random_seeds?: boolean;
  readonly custom_nodes?: Readonly<Record<string, CustomNode>>;
}

const FILE = 'runledger.toml';
const PYTHON_FILE = 'pyproject.toml';
/** The table of the second one. */
const TABLE = 'tool.runledger';

/** @throws CommandError that names the file and the member, and says what to write instead */
export const readFolderConfig = async (folder: string): Promise<FolderConfig> => {
  const { file, prefix, ...found } = await configTable(folder);
  const table = withSecretTable(found.table);
  const problems = problemsIn(table);
  if (problems.length > 0)
    throw new CommandError(
      [
        `${file} cannot be used:`,
        ...problems.map(({ path, why }) => `  ${plain(prefix + pathWords(path))}: ${plain(why)}`),
      ].join('\n'),
    );
  const read = table as unknown as Static<typeof Config>;
  const { name, gpu, inputs, comfyui, models: entries, ...rest } = read;
  const { remote, local } = modelsIn(entries);
  const others = remote === undefined ? rest : { ...rest, models: remote };
  const members = Object.entries(others);
  return {
    file,
    name,
    localModels: local,
    gpu: gpu ?? undefined,
    comfyui: comfyui as FolderComfyui | undefined,
    manifest: Object.fromEntries(members.filter(([member]) => Object.hasOwn(MANIFEST, member))),
    settings: Object.fromEntries(members.filter(([member]) => !Object.hasOwn(MANIFEST, member))),
    inputs:
      inputs &&
      Object.entries(inputs as Readonly<Record<string, Omit<NewInputDefinition, 'name'>>>).map(
        ([input, definition]) => ({ name: input, ...definition }),
      ),
  };
};

/** By where they are. */
const modelsIn = (
  entries: unknown,
): {
  readonly remote: Readonly<Record<string, unknown>> | undefined;
  readonly local: Readonly<Record<string, ModelOfMachine>>;
} => {
  const all = membersOf(entries);
  const remote = all.filter(([, entry]) => !isLocal(entry));
  const local = all.flatMap(([path, entry]) => (isLocal(entry) ? [[path, entry] as const] : []));
  return {
    remote: remote.length === 0 ? undefined : Object.fromEntries(remote),
    local: Object.fromEntries(local),
  };
};

const isLocal = (entry: unknown): entry is ModelOfMachine =>
  isJsonObject(entry) && entry['path'] !== undefined;

/** A list of names means variables of the same names. */
const withSecretTable = ({ secrets, ...table }: JsonObject): JsonObject => {
  if (secrets === undefined) return table;
  const isList = Array.isArray(secrets) && secrets.every((name) => typeof name === 'string');
  return { ...table, secrets: isList ? Object.fromEntries(secrets.map((name) => [name, name])) : secrets };
};

interface ConfigTable {
  readonly file: string;
  readonly table: JsonObject;
  /** Of its members, in messages. */
  readonly prefix: string;
}

const configTable = async (folder: string): Promise<ConfigTable> => {
  const own = await textOf(folder, FILE);
  const python = await textOf(folder, PYTHON_FILE);
  // What is wrong with a file that nobody asks for is no concern of a deployment.
  const tool = python === undefined || isUnreadable(own, python) ? undefined : tableIn(python);
  if (own !== undefined && tool !== undefined)
    throw new CommandError(
      `${FILE} and ${PYTHON_FILE} both say what the folder is. Keep ${FILE}, or [${TABLE}] in ${PYTHON_FILE}, and remove the other.`,
    );
  if (own !== undefined) return { file: FILE, table: parsed(FILE, own), prefix: '' };
  if (tool !== undefined) return { file: PYTHON_FILE, table: tool, prefix: `${TABLE}.` };
  const cog = await textOf(folder, COG_FILE);
  if (cog !== undefined) return { file: COG_FILE, table: cogTable(cog, nameFor(folder)), prefix: '' };
  throw new CommandError(
    `${plain(folder)} has neither ${FILE} nor [${TABLE}] in ${PYTHON_FILE}, nor ${COG_FILE}. Write ${FILE}, such as:\n${EXAMPLE.replace('NAME', nameFor(folder))}`,
  );
};

const EXAMPLE = `  name = "NAME"
  run = "predict.py:predict"
  gpu = "CPU"`;

/** A name that a deployment may have. */
export const nameFor = (folder: string): string =>
  plain(basename(folder)).replaceAll(/["\\]/g, '') || 'model';

const textOf = async (folder: string, file: string): Promise<string | undefined> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(join(folder, file)));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof TypeError)
      throw new CommandError(`${file} cannot be read: it is not UTF-8. Save it as UTF-8.`);
    throw new CommandError(`${file} cannot be read: ${codeOf(error)}.`);
  }
};

const isUnreadable = (own: string | undefined, python: string): boolean => {
  if (own === undefined) return false;
  try {
    parse(python);
    return false;
  } catch {
    return true;
  }
};

const tableIn = (python: string): JsonObject | undefined => {
  const { tool } = parsed(PYTHON_FILE, python);
  const table = isJsonObject(tool) ? tool['runledger'] : undefined;
  return isJsonObject(table) ? table : undefined;
};

const parsed = (file: string, text: string): JsonObject => {
  try {
    return jsonOf(parse(text, { integersAsBigInt: 'asNeeded' })) as JsonObject;
  } catch (error) {
    if (error instanceof TomlError) {
      const [why = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
      throw new CommandError(
        `${file} is not valid TOML, line ${error.line}, column ${error.column}: ${plain(why)}.`,
      );
    }
    throw error;
  }
};

/** Times are texts, and no number is rounded. */
const jsonOf = (value: TomlValue): JsonValue => {
  if (typeof value === 'bigint') return numberOf(String(value));
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, jsonOf(member)]));
};

/** What a schema says of any value that it refuses, in the form of the API. */
const saying = (msg: string): { readonly 'x-refusal': object } => ({
  'x-refusal': { type: 'value_error', msg },
});

const {
  code_sha256: _code,
  comfyui: _comfyui,
  run,
  python,
  requirements,
  env,
  secrets,
  models,
  ...asTheyAre
} = CodeManifest.properties;
const { custom_nodes: customNodes } = ComfyuiManifest.properties;

/** Unknown members are looked for apart. */
const ModelEntry = Type.Object({
  ...ModelAtUrl.properties,
  url: Type.Optional({
    ...ModelAtUrl.properties.url,
    ...saying('Write an http or https URL, or s3://bucket/key'),
  }),
  /** Of this machine. */
  path: Type.Optional(
    Type.String({ minLength: 1, ...saying('Write the path of a file, from the folder on') }),
  ),
  sha256: Type.Optional({
    ...ModelAtUrl.properties.sha256,
    ...saying('Write the SHA-256 of the file: 64 hexadecimal digits in lower case'),
  }),
});

/** Of the code. Names of members and bounds are those of the manifest. */
const MANIFEST = {
  ...asTheyAre,
  run: Type.Optional({
    ...run,
    ...saying(
      'Write a file of the folder and a function in it, such as "predict.py:predict"; the file ends in .py, .mjs or .js',
    ),
  }),
  python: Type.Optional({ ...python, ...saying('Write a version as a text, such as "3.11"') }),
  requirements: Type.Optional({
    ...requirements,
    ...saying('Write the path of a file in the folder, such as "requirements.txt"'),
  }),
  env: Type.Optional(
    Type.Object(
      {},
      { additionalProperties: Type.String({ maxLength: 32_768, ...saying('Write a text, in quotes') }) },
    ),
  ),
  secrets: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: {
          ...SecretName,
          ...saying('Write the name of a secret, such as "HF_TOKEN": runledger secrets list shows them'),
        },
        maxProperties: MAX_SECRETS,
      },
    ),
  ),
  models: Type.Optional(Type.Object({}, { additionalProperties: ModelEntry })),
};

/** One of a path, and a URL with its hash. */
const NodeEntry = Type.Object({
  path: Type.Optional({
    ...PathInFolder,
    ...saying('Write the path of a folder in the folder, such as "nodes/my-nodes"'),
  }),
  url: Type.Optional(ModelEntry.properties.url),
  sha256: Type.Optional(ModelEntry.properties.sha256),
});

const Comfyui = Type.Object({
  workflow: {
    ...PathInFolder,
    ...saying('Write the path of a file in the folder, such as "workflow_api.json"'),
  },
  random_seeds: Type.Optional(Type.Boolean()),
  custom_nodes: Type.Optional(
    Type.Object({}, { additionalProperties: NodeEntry, maxProperties: MAX_CUSTOM_NODES }),
  ),
});

const { workflow_version_id: _version, machine_id: _machine, name, ...SETTINGS } = NewDeployment.properties;
const { name: _input, ...INPUT } = NewInputDefinition.properties;
const Input = Type.Object(INPUT);

const Config = Type.Object({
  name: Type.Optional(name),
  ...MANIFEST,
  comfyui: Type.Optional(Comfyui),
  ...SETTINGS,
  inputs: Type.Optional(Type.Object({}, { additionalProperties: Input })),
});

interface Problem {
  readonly path: readonly (string | number)[];
  /** What is wrong, and what to write instead. */
  readonly why: string;
}

const problem = (path: Problem['path'], why: string): Problem => ({ path, why });

const problemsIn = (table: JsonObject): Problem[] => {
  const unknown = [
    ...unknownIn(Config, table, []),
    ...membersOf(table['models']).flatMap(([path, file]) => unknownIn(ModelEntry, file, ['models', path])),
    ...membersOf(membersIn(table['comfyui'], 'custom_nodes')).flatMap(([node, from]) =>
      unknownIn(NodeEntry, from, ['comfyui', 'custom_nodes', node]),
    ),
    ...membersOf(table['inputs']).flatMap(([input, definition]) =>
      unknownIn(Input, definition, ['inputs', input]),
    ),
  ];
  const wrong = problemsOf(Config, table, 'body').map(({ loc, msg }) =>
    problem(loc.slice(1), msg.replace(/^Send /, 'Write ').replace(/: send it$/, ': write it')),
  );
  const { secrets } = table;
  const all = [...(secrets === undefined || isJsonObject(secrets) ? [] : [NO_TABLE]), ...unknown, ...wrong];
  // The rules below look at values that have their types.
  return all.length > 0 ? all : problemsTogether(table);
};

const NO_TABLE = problem(
  ['secrets'],
  'Write a table, such as HF_TOKEN = "HF_TOKEN" below [secrets], or a list of names: secrets = ["HF_TOKEN"]',
);

const unknownIn = (schema: TSchema, value: unknown, at: Problem['path']): Problem[] =>
  unknownMembers(schema, value).map(({ path, known }) =>
    problem(
      [...at, ...path],
      `There is no such member${didYouMean(String(path.at(-1)), known) || `. There are ${known.join(', ')}`}`,
    ),
  );

const membersIn = (value: unknown, member: string): unknown =>
  isJsonObject(value) ? value[member] : undefined;

const membersOf = (value: unknown): [string, unknown][] => (isJsonObject(value) ? Object.entries(value) : []);

/** What is wrong with members that are right alone. */
const problemsTogether = (config: Static<typeof Config>): Problem[] => {
  const { run: called, command, comfyui, mode, gpu, gpus } = config;
  const stays = called !== undefined || comfyui !== undefined || mode === 'resident';
  return [
    ...(called === undefined && command === undefined && comfyui === undefined
      ? [
          problem(
            ['run'],
            'Write what is executed: run = "predict.py:predict", or command = ["python", "main.py"], or a table [comfyui]',
          ),
        ]
      : []),
    ...(comfyui === undefined ? [] : comfyuiProblems(config)),
    ...(called !== undefined && command !== undefined
      ? [problem(['command'], 'Write run, a function, or command, a program: not both')]
      : []),
    ...membersOf(comfyui === undefined ? config.inputs : {}).flatMap(([input, definition]) =>
      (['node', 'field'] as const)
        .filter((member) => membersIn(definition, member) !== undefined)
        .map((member) =>
          problem(['inputs', input, member], 'Leave it out: only a workflow of [comfyui] has nodes'),
        ),
    ),
    ...(called !== undefined && mode !== undefined
      ? [problem(['mode'], 'Leave it out: it is of a command, and a function of run always stays')]
      : []),
    ...(gpu !== undefined && gpus !== undefined
      ? [problem(['gpus'], 'Write gpu, one model, or gpus, models in order of preference: not both')]
      : []),
    ...(['start_timeout_s', 'idle_timeout_s', 'max_runs'] as const)
      .filter((member) => !stays && config[member] !== undefined)
      .map((member) =>
        problem([member], 'It is of a process that stays: write mode = "resident", or leave it out'),
      ),
    ...(!stays && (config.keep_loaded ?? 0) > 0
      ? [problem(['keep_loaded'], 'It is of a process that stays: write keep_prepared, or mode = "resident"')]
      : []),
    ...(['env', 'secrets'] as const).flatMap((member) =>
      membersOf(config[member])
        .filter(([variable]) => !keysOf({ env, secrets }[member]).test(variable))
        .map(([variable]) =>
          problem(
            [member, variable],
            'Write a name of letters, digits and underscores that begins with no digit',
          ),
        ),
    ),
    ...membersOf(config.models).flatMap(([path, entry]) => [
      ...modelProblem(path),
      ...placeProblem(path, entry),
    ]),
    ...variableProblems(config as Pick<CodeManifest, 'env' | 'secrets' | 'models'>).map(({ path, why }) =>
      problem(path, why),
    ),
  ];
};

const comfyuiProblems = ({
  comfyui,
  run: called,
  command,
  mode,
  ...config
}: Static<typeof Config>): Problem[] => [
  ...(called !== undefined || command !== undefined
    ? [problem(['comfyui'], 'Write one of run, a function, command, a program, and [comfyui], a workflow')]
    : []),
  ...(mode === undefined
    ? []
    : [problem(['mode'], 'Leave it out: it is of a command, and ComfyUI always stays')]),
  ...(['python', 'requirements'] as const)
    .filter((member) => config[member] !== undefined)
    .map((member) => problem([member], OF_MACHINE)),
  ...membersOf(comfyui?.custom_nodes).flatMap(([node, from]) =>
    nodeProblem(node, from).map((why) => problem(['comfyui', 'custom_nodes', node], why)),
  ),
];

const OF_MACHINE =
  'Leave it out: the Python and the packages are those of the ComfyUI of the machine, and a requirements.txt of a custom node adds what it needs';

const nodeProblem = (node: string, from: unknown): string[] => {
  const [path, url, sha256] = ['path', 'url', 'sha256'].map((member) => membersIn(from, member));
  if (!keysOf(customNodes).test(node))
    return [
      'Write a name of letters, digits, dots, dashes and underscores that does not end in .disabled: ComfyUI gets a folder with it',
    ];
  if (path !== undefined && url !== undefined)
    return ['Write path, a folder in the folder, or url, an archive: not both'];
  if (path === undefined && url === undefined)
    return ['Write where it is: { path = "nodes/my-nodes" }, or { url = "https://…", sha256 = "…" }'];
  if (path !== undefined && sha256 !== undefined)
    return ['Leave sha256 out: it is of an archive, and the hash of the version covers a path'];
  return url !== undefined && sha256 === undefined
    ? ['Write the sha256 of the archive beside its url: 64 hexadecimal digits in lower case']
    : [];
};

const modelProblem = (path: string): Problem[] =>
  keysOf(models).test(path)
    ? []
    : [problem(['models', path], 'Write a path below the folder of models, such as "sdxl/unet.safetensors"')];

/** A file is at a URL or on this machine. */
const placeProblem = (path: string, entry: unknown): Problem[] => {
  const { url, path: file, sha256 }: Record<string, unknown> = isJsonObject(entry) ? { ...entry } : {};
  if (url === undefined && file === undefined)
    return [problem(['models', path], 'Write url, where the file is, or path, a file of this machine')];
  if (url !== undefined && file !== undefined)
    return [
      problem(['models', path], 'Write url, where the file is, or path, a file of this machine: not both'),
    ];
  return file === undefined && sha256 === undefined
    ? [problem(['models', path, 'sha256'], 'This is required: write it, since the file of a URL may change')]
    : [];
};

/** What the keys of a table look like, as the manifest has it. */
const keysOf = ({ patternProperties }: { readonly patternProperties: object }): RegExp =>
  new RegExp(Object.keys(patternProperties)[0] ?? '');

/** As TOML writes it: `models."sdxl/unet.safetensors".sha256`. */
const pathWords = (path: Problem['path']): string =>
  path
    .map((part) => {
      if (typeof part === 'number') return `[${part}]`;
      return /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
    })
    .join('.')
    .replaceAll('.[', '[');
