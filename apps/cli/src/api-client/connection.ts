import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DATA_FOLDER, readConnectionFile } from '@runledger/standalone/connection-files';
import type { Environment } from '@runledger/service-kit/config/config';
import { CommandError } from '../output/command-error.ts';
import { readCliSettings } from './cli-settings.ts';

export type { Environment } from '@runledger/service-kit/config/config';

export interface ApiConnection {
  /** With the base path, without a slash at the end. */
  readonly url: string;
  readonly apiKey: string;
  /** The source of the key, for messages. */
  readonly source: string;
  /** The sample of a standalone; null for a connection from the environment. */
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
  'or set RUNLEDGER_URL (such as http://127.0.0.1:8080/api) and RUNLEDGER_API_KEY.';

/** @throws CommandError if no connection is found */
export const findConnection = async (env: Environment, cwd: string): Promise<ApiConnection> => {
  const { RUNLEDGER_URL: url, RUNLEDGER_API_KEY: key } = readCliSettings(env);
  if (url !== undefined && key !== undefined)
    return {
      url: checkedUrl(url, 'RUNLEDGER_URL'),
      apiKey: key,
      source: 'RUNLEDGER_API_KEY',
      deploymentId: null,
    };
  if (url !== undefined)
    throw new CommandError(
      'RUNLEDGER_URL is set, but RUNLEDGER_API_KEY is not. Set both, or unset RUNLEDGER_URL.',
    );
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

const checkedUrl = (text: string, source: string): string => {
  const protocol = URL.parse(text)?.protocol;
  if (protocol === 'http:' || protocol === 'https:') return text.replace(/\/+$/, '');
  throw new CommandError(
    `${source} has no URL that starts with http:// or https://, such as http://127.0.0.1:8080/api.`,
  );
};
