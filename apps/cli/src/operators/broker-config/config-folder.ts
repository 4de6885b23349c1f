import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { executorToken } from '@runledger/contracts/ids';
import { KEY_FILE_ENDING, keyFileOf } from '@runledger/standalone/keys';
import { CommandError } from '../../output/command-error.ts';

export const MARK = '# Made by "runledger broker-config';
const HEAD = `${MARK}", which keeps the keys and replaces this file: changes by hand are lost.
# It holds public keys only. In the configuration of nats-server: include './broker.conf'
`;
const EXECUTOR = 'executor-';

/** The folder with `broker.conf` and the seed of each user in `keys`. */
export interface ConfigFolder {
  readonly path: string;
  readonly configFile: string;
  readonly keys: string;
  readonly keyFileOf: (user: string) => string;
  /** With a folder for each broker of a cluster. */
  readonly nodes: string;
  readonly nodeFolderOf: (name: string) => string;
  /** A path in it, relative to the present folder. */
  readonly shown: (path: string) => string;
}

export const configFolder = (cwd: string, folder: string): ConfigFolder => {
  const path = resolve(cwd, folder);
  const keys = join(path, 'keys');
  const nodes = join(path, 'nodes');
  return {
    path,
    configFile: join(path, 'broker.conf'),
    keys,
    keyFileOf: (user) => keyFileOf(keys, user),
    nodes,
    nodeFolderOf: (name) => join(nodes, name),
    shown: (inside) => {
      const near = relative(cwd, inside);
      return near.startsWith('..') || isAbsolute(near) ? inside : near;
    },
  };
};

export const configText = (accounts: string): string => `${HEAD}\n${accounts}`;

/** The present `broker.conf`; undefined without one. @throws CommandError for a file from elsewhere */
export const readConfigText = async (folder: ConfigFolder): Promise<string | undefined> => {
  const text = await unlessMissing(folder, readFile(folder.configFile, 'utf8'));
  if (text === undefined || text.startsWith(MARK)) return text;
  throw new CommandError(
    `${folder.shown(folder.configFile)} was not made by this command, and is not replaced. Move it away, or choose another folder with --out.`,
  );
};

/** The known executors: from their keys, or from the configuration if a key was moved away. */
export const knownExecutors = async (folder: ConfigFolder, text: string | undefined): Promise<string[]> => {
  const files = (await unlessMissing(folder, readdir(folder.keys))) ?? [];
  const byKey = files
    .filter((name) => name.startsWith(EXECUTOR) && name.endsWith(KEY_FILE_ENDING))
    .map((name) => name.slice(EXECUTOR.length, -KEY_FILE_ENDING.length));
  const byConfig = [...(text ?? '').matchAll(/^ {2}"executor-([\w-]+)" \{$/gm)].flatMap(
    ([, name]) => name ?? [],
  );
  // A file with another name does not belong to this command.
  return [...new Set([...byKey, ...byConfig])].filter((name) => executorToken(name) === name);
};

export const unlessMissing = async <Content>(
  folder: ConfigFolder,
  reading: Promise<Content>,
): Promise<Content | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw unusable(folder, error);
  }
};

/** The error for a failure in the folder. */
export const unusable = ({ path, shown }: ConfigFolder, error: unknown): CommandError => {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandError(
    `The folder ${shown(path)} cannot be used: ${why}. Run this as its owner, make it writable, or choose another folder with --out.`,
  );
};
