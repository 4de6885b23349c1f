import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '@runledger/service-kit/config/config';
import { readJsonFile } from '@runledger/standalone/connection-files';
import { writePrivateFile } from '@runledger/standalone/write-file';
import { Type, type Static } from 'typebox';
import { CommandError } from '../output/command-error.ts';

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
export type Contexts = Static<typeof Contexts>;

/** The name that stands for the running standalone here or above. No stored context has it. */
export const LOCAL = 'local';

const NONE: Contexts = { current: null, contexts: {} };

/** Undefined when the environment says nothing about the person's folder. */
const pathOf = ({ XDG_CONFIG_HOME, HOME }: Environment): string | undefined => {
  const folder = XDG_CONFIG_HOME || (HOME && join(HOME, '.config'));
  return folder ? join(folder, 'runledger', 'contexts.json') : undefined;
};

export interface ReadContexts extends Contexts {
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
    throw new CommandError(
      `${path} cannot be written: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
  return path;
};
