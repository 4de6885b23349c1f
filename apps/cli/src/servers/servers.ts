import { rowLines } from '../command/table.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { Whoami } from '@runledger/contracts/http/api-keys';
import type { Environment } from '../api/connection.ts';
import type { CommandContext, Client } from '../command/command-context.ts';
import type { FileSources } from '../command/option-values.ts';
import { listContexts, removeContext, useContext } from './contexts.ts';
import { login, type LoginOptions } from './login.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { historyPicture } from '../runs/history.ts';
import { runIdOf } from '../runs/run-reference.ts';

/** The commands about servers and who works with them. */
export const addServerCommands = (
  program: Command,
  { client, withClient, screen, add }: CommandContext,
  { env, cwd, stdin }: FileSources & { readonly env: Environment },
): void => {
  add(program, 'login', 'store the URL of a server and an API key, and use them from now on')
    .option('--url <url>', 'of the server; asked for by default')
    .option('--name <name>', "of the context that it becomes; the server's host by default")
    .addHelpText('after', LOGIN_HELP)
    .action(async (options: LoginOptions) => login({ env, stdin, screen }, options));
  add(program, 'whoami', 'show the server, and whose the API key is').action(withClient(whoami));
  add(
    program,
    'open [run]',
    "open the reference of the API, or a picture of a run's history, in a browser",
  ).action(async (run: string | undefined) => openPage(await client(), env, run));
  const group = program.command('context').description('the servers that you have logged in to');
  const place = { env, cwd, screen };
  add(group, 'list', 'list them; the current one has a star').action(async () => listContexts(place));
  add(group, 'use <context>', 'use this one from now on; local is the standalone of the folder').action(
    async (name: string) => useContext(place, name),
  );
  add(group, 'remove <context>', 'forget a server and its key').action(async (name: string) =>
    removeContext(place, name),
  );
};

const LOGIN_HELP = `
The key is asked for and not shown. Without a terminal it is read from standard input, or from
RUNLEDGER_API_KEY; it is never an argument. It is stored in $XDG_CONFIG_HOME/runledger/contexts.json
(~/.config by default), which only you can read.`;

/** Shows which server, organisation, user and key commands work with now. */
const whoami = async ({ connection, call, screen }: Client): Promise<void> => {
  const who = await call(Whoami, { method: 'GET', path: '/whoami' });
  const { url, source } = connection;
  const { organisation, user, key, version } = who;
  const own = packageJson.version;
  screen.result({ server: url, key_from: source, ...who, command_version: own }, () =>
    rowLines(screen, [
      ['server', url],
      ['key from', source],
      ['organisation', `${organisation.name} (${organisation.id})`],
      ['user', `${user.name} (${user.id})`],
      ['key', `${key.name} (${key.prefix}…, ${key.id})`],
      ['scopes', key.scopes.join(', ')],
      ['expires', key.expires_at ?? 'never', 'time'],
      ['version', version === own ? version : `${version}, the command ${own}`],
    ]),
  );
};

/**
 * Prints an address, and opens it in the browser if there is one: the reference of the API, or the picture of a run's history. The
 * picture comes as a file, because a browser sends no API key.
 */
const openPage = async (
  { connection, call, screen }: Client,
  env: Environment,
  given: string | undefined,
): Promise<void> => {
  const run = given === undefined ? undefined : await runIdOf(call, given);
  const address =
    run === undefined
      ? `${connection.url}/docs`
      : await pictureFile(run, await historyPicture(connection, run));
  const opened = await openInBrowser(address, env);
  screen.result({ address, opened }, () => address);
  if (!opened && !screen.isJson()) screen.hint('No browser was found here. Open the address in one.');
};

/** In a folder that only its owner can read. */
const pictureFile = async (run: string, svg: string): Promise<string> => {
  const path = join(await mkdtemp(join(tmpdir(), 'runledger-')), `run-${run}.svg`);
  await writeFile(path, svg);
  return pathToFileURL(path).href;
};

/** False when there is none: without a display, or without the program that knows it. */
const openInBrowser = async (address: string, env: Environment): Promise<boolean> => {
  const program = openerOf(env);
  if (program === undefined) return false;
  try {
    const child = spawn(program, [address], { env, detached: true, stdio: 'ignore' });
    await once(child, 'spawn');
    child.unref();
    return true;
  } catch {
    return false;
  }
};

const openerOf = ({ DISPLAY, WAYLAND_DISPLAY, BROWSER }: Environment): string | undefined => {
  if (process.platform === 'darwin') return 'open';
  return DISPLAY || WAYLAND_DISPLAY || BROWSER ? 'xdg-open' : undefined;
};
