import { readConnectionFile } from '@runledger/standalone/connection-files';
import { findDataFolder, type Environment, LOCAL, readContexts, writeContexts } from '../api/connection.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';
import { printTable, type Column } from '../command/table.ts';
import { readCliSettings } from '../api/cli-settings.ts';

/** Where contexts are stored and shown. */
interface ContextPlace {
  readonly env: Environment;
  readonly cwd: string;
  readonly screen: Screen;
}

interface Listed {
  readonly name: string;
  /** Null for a standalone that is not running. */
  readonly url: string | null;
  readonly current: boolean;
}

const columns: readonly Column<Listed>[] = [
  { title: '', width: 1, of: ({ current }) => (current ? '*' : '') },
  { title: 'NAME', width: 24, of: ({ name }) => name },
  { title: 'URL', width: 0, of: ({ url }) => url ?? 'not running' },
];

/** Lists the stored servers by name, and the standalone of this folder. The current one has a star. */
export const listContexts = async ({ env, cwd, screen }: ContextPlace): Promise<void> => {
  const { current, contexts } = await readContexts(env);
  const listed: Listed[] = [
    ...Object.entries(contexts)
      .map(([name, { url }]) => ({ name, url, current: name === current }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    { name: LOCAL, url: await localUrl(env, cwd), current: current === null },
  ];
  printTable(screen, columns, listed);
};

const localUrl = async (env: Environment, cwd: string): Promise<string | null> => {
  const folder = findDataFolder(env, cwd);
  const file = folder === undefined ? undefined : await readConnectionFile(folder);
  return file?.kind === 'found' ? file.content.url : null;
};

/** Makes a stored server, or the local standalone, the one that commands use. */
export const useContext = async ({ env, screen }: ContextPlace, name: string): Promise<void> => {
  const { contexts } = await readContexts(env);
  const stored = contextNamed(contexts, name);
  await writeContexts(env, { current: name === LOCAL ? null : name, contexts });
  screen.result({ name, url: stored?.url ?? null }, ({ url }) =>
    url === null
      ? 'Commands use the standalone of their folder now.'
      : `Commands use ${plain(name)} now, at ${url}.`,
  );
  warnOfVariables(env, screen);
};

/** Forgets a server and its key. */
export const removeContext = async ({ env, screen }: ContextPlace, name: string): Promise<void> => {
  if (name === LOCAL)
    throw new CommandError('The standalone of this folder is no stored context. It cannot be removed.');
  const { current, contexts } = await readContexts(env);
  contextNamed(contexts, name);
  const { [name]: _removed, ...others } = contexts;
  const isCurrent = current === name;
  await writeContexts(env, { current: isCurrent ? null : current, contexts: others });
  screen.result({ name, removed: true }, () => `The context ${plain(name)} is removed.`);
  if (screen.isJson()) return;
  if (isCurrent) screen.hint('It was the current one. Commands use the standalone of their folder now.');
  screen.hint('Its key stays valid until it is revoked: runledger keys revoke KEY');
};

/** Undefined for the local standalone. @throws CommandError for an unknown name */
const contextNamed = <Stored>(
  contexts: Readonly<Record<string, Stored>>,
  name: string,
): Stored | undefined => {
  if (name === LOCAL) return undefined;
  if (Object.hasOwn(contexts, name)) return contexts[name];
  throw new CommandError(`There is no context ${plain(name)}. List them with: runledger context list`);
};

/** Who chooses a context should know that a variable comes before it. */
export const warnOfVariables = (env: Environment, screen: Screen): void => {
  const { RUNLEDGER_URL, RUNLEDGER_CONTEXT, RUNLEDGER_DATA_DIR } = readCliSettings(env);
  const set = Object.entries({ RUNLEDGER_URL, RUNLEDGER_CONTEXT, RUNLEDGER_DATA_DIR })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (set.length > 0)
    screen.hint(`Set in this shell, and comes before the chosen context: ${set.join(', ')}.`);
};
