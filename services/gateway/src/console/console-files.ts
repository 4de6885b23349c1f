import { readdir } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { ConfigError } from '@runledger/service-kit/config/config';

/** The page of the console. Whatever its address, it shows what belongs there. */
export const PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

export interface ConsoleFile {
  readonly path: string;
  /** Its media type. */
  readonly type: string;
}

/**
 * The built files of the console by their paths below `/console/`, undefined if the setting is `off`.
 * @throws ConfigError that says how to build them, if they are not in the folder that it names
 */
export const consoleFiles = async (folder: string): Promise<ReadonlyMap<string, ConsoleFile> | undefined> => {
  if (folder === 'off') return undefined;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: Error) => error,
  );
  const files = new Map(
    (entries instanceof Error ? [] : entries)
      .filter((entry) => entry.isFile() && TYPES[extname(entry.name)] !== undefined)
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = relative(folder, path).split(sep).join('/');
        return [name, { path, type: String(TYPES[extname(name)]) }];
      }),
  );
  if (files.has(PAGE)) return files;
  const why = entries instanceof Error ? entries.message : `it has no ${PAGE}`;
  throw new ConfigError([
    {
      variable: 'RUNLEDGER_CONSOLE',
      wrong: `names ${folder}, which is no built console (${why})`,
      right: 'off, or the folder that npm run build --workspace apps/console has made: apps/console/dist',
    },
  ]);
};
