import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DATA_FOLDER, readConnectionFile } from '@runledger/standalone/connection-files';
import type { Environment } from '@runledger/service-kit/config/config';
import { LOCAL, readContexts, type ReadContexts } from '../contexts/contexts-file.ts';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { readCliSettings } from './cli-settings.ts';

export type { Environment } from '@runledger/service-kit/config/config';

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
