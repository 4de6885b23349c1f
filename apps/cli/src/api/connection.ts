import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { DATA_FOLDER, readConnectionFile, readJsonFile } from '@runledger/standalone/connection-files';
import type { Environment } from '@runledger/service-kit/config';
import { writePrivateFile } from '@runledger/standalone/write-file';
import { messageOf } from '@runledger/resilience/errors';
import { Type, type Static } from 'typebox';
import { CommandError, plain } from '../command/command-error.ts';
import { readCliSettings } from './cli-settings.ts';

export type { Environment } from '@runledger/service-kit/config';

export interface ApiConnection {
  /** With the base path, without a slash at the end. */
  readonly url: string;
  readonly apiKey: string;
  /** The source of the key, for messages. */
  readonly source: string;
  /** The sample of a standalone; null for any other connection. */
  readonly deploymentId: string | null;
}

/** The data folder of `RUNLEDGER_DATA_DIR`, else the nearest `.runledger` here or above. */
export const findDataFolder = (env: Environment, cwd: string): string | undefined => {
  const { RUNLEDGER_DATA_DIR: named } = readCliSettings(env);
  if (named !== undefined) return resolve(cwd, named);
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, DATA_FOLDER))) return join(folder, DATA_FOLDER);
    if (folder === dirname(folder)) return undefined;
  }
};

const CONNECTION_HELP =
  'Either start a standalone (npm start) and run this command in its folder or below, or with RUNLEDGER_DATA_DIR;\n' +
  'or log in to a server with: runledger login\n' +
  'or set RUNLEDGER_URL (such as http://127.0.0.1:8080/api) and RUNLEDGER_API_KEY.';

/**
 * The connection of `--context`, else of the variables, else of the current context, else of the local standalone. A variable that names
 * a standalone comes before the current context too. @throws CommandError if no connection is found, ConfigError
 */
export const findConnection = async (
  env: Environment,
  cwd: string,
  context: string | undefined,
): Promise<ApiConnection> => {
  const settings = readCliSettings(env);
  const { RUNLEDGER_URL: url, RUNLEDGER_API_KEY: apiKey, RUNLEDGER_CONTEXT: named } = settings;
  if (context !== undefined) return connectionOf(env, cwd, context);
  if (url !== undefined && named !== undefined)
    throw new CommandError(
      'RUNLEDGER_URL and RUNLEDGER_CONTEXT are set, and each names a server. Unset one of them.',
    );
  if (url !== undefined && apiKey === undefined)
    throw new CommandError(
      'RUNLEDGER_URL is set, but RUNLEDGER_API_KEY is not. Set both, or unset RUNLEDGER_URL.',
    );
  if (url !== undefined && apiKey !== undefined)
    return { url: withoutSlash(url), apiKey, source: 'RUNLEDGER_API_KEY', deploymentId: null };
  if (named !== undefined) return connectionOf(env, cwd, named);
  const { current } = settings.RUNLEDGER_DATA_DIR === undefined ? await readContexts(env) : { current: null };
  return connectionOf(env, cwd, current ?? LOCAL);
};

const connectionOf = async (env: Environment, cwd: string, context: string): Promise<ApiConnection> =>
  context === LOCAL ? localConnection(env, cwd) : storedConnection(await readContexts(env), context);

const storedConnection = ({ contexts, path }: ReadContexts, name: string): ApiConnection => {
  const stored = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (stored === undefined)
    throw new CommandError(
      `There is no context ${plain(name)}. List them with: runledger context list; make it with: runledger login --name ${plain(name)}`,
    );
  return {
    url: checkedUrl(stored.url, `The context ${plain(name)} in ${path}`),
    apiKey: stored.api_key,
    source: `the context ${plain(name)} (${path})`,
    deploymentId: null,
  };
};

const localConnection = async (env: Environment, cwd: string): Promise<ApiConnection> => {
  const folder = findDataFolder(env, cwd);
  if (folder === undefined)
    throw new CommandError(`No connection to Runledger was found.\n${CONNECTION_HELP}`);
  const file = await readConnectionFile(folder);
  switch (file.kind) {
    case 'found': {
      const { url, api_key, deployment_id } = file.content;
      return {
        url: checkedUrl(url, file.path),
        apiKey: api_key,
        source: file.path,
        deploymentId: deployment_id,
      };
    }
    case 'missing':
      throw new CommandError(
        `The standalone of ${folder} is not running: it has no connection.json.\n${CONNECTION_HELP}`,
      );
    case 'unusable':
      throw new CommandError(`${file.path} cannot be used: ${file.why}.\n${CONNECTION_HELP}`);
  }
};

/** @throws CommandError */
export const checkedUrl = (text: string, source: string): string => {
  const protocol = URL.parse(text)?.protocol;
  if (protocol === 'http:' || protocol === 'https:') return withoutSlash(text);
  throw new CommandError(
    `${source} has no URL that starts with http:// or https://, such as http://127.0.0.1:8080/api.`,
  );
};

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** How a server is reached, and with which key. */
const StoredContext = Type.Object({
  /** With the base path. */
  url: Type.String({ minLength: 1 }),
  api_key: Type.String({ minLength: 1 }),
});

/** `contexts.json`: the servers that a person has logged in to, by name. */
const Contexts = Type.Object({
  /** The one that is used when a command names none; null for the local standalone. */
  current: Type.Union([Type.String(), Type.Null()]),
  contexts: Type.Record(Type.String(), StoredContext),
});
type Contexts = Static<typeof Contexts>;

/** The name that stands for the running standalone here or above. No stored context has it. */
export const LOCAL = 'local';

const NONE: Contexts = { current: null, contexts: {} };

/** Undefined when the environment says nothing about the person's folder. */
const pathOf = ({ XDG_CONFIG_HOME, HOME }: Environment): string | undefined => {
  const folder = XDG_CONFIG_HOME || (HOME && join(HOME, '.config'));
  return folder ? join(folder, 'runledger', 'contexts.json') : undefined;
};

interface ReadContexts extends Contexts {
  /** For messages. */
  readonly path: string;
}

/** Without a file there are none. @throws CommandError when it cannot be read */
export const readContexts = async (env: Environment): Promise<ReadContexts> => {
  const path = pathOf(env);
  if (path === undefined) return { ...NONE, path: 'contexts.json' };
  const file = await readJsonFile(path, Contexts);
  switch (file.kind) {
    case 'found':
      return { ...file.content, path };
    case 'missing':
      return { ...NONE, path };
    case 'unusable':
      throw new CommandError(
        `${path} cannot be used: ${file.why}. Repair or remove it, and log in again with: runledger login`,
      );
  }
};

const FOLDER_MODE = 0o700;

/** Replaces the file, which only its owner may read. Returns its path. @throws CommandError */
export const writeContexts = async (env: Environment, { current, contexts }: Contexts): Promise<string> => {
  const path = pathOf(env);
  if (path === undefined)
    throw new CommandError(
      'There is no place to store the connection: neither HOME nor XDG_CONFIG_HOME is set. Set one of them.',
    );
  try {
    await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
    await writePrivateFile(path, `${JSON.stringify({ current, contexts }, null, 2)}\n`);
  } catch (error) {
    throw new CommandError(`${path} cannot be written: ${messageOf(error)}.`);
  }
  return path;
};
