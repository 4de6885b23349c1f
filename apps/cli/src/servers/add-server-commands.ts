import type { Command } from 'commander';
import type { Environment } from '../api-client/connection.ts';
import type { CommandContext, Json } from '../command/command-context.ts';
import type { FileSources } from '../options/json-files.ts';
import { listContexts, removeContext, useContext } from './contexts.ts';
import { login, type LoginOptions } from './login.ts';
import { openPage } from './open-page.ts';
import { whoami } from './whoami.ts';

/** The commands about servers and who works with them. */
export const addServerCommands = (
  program: Command,
  { client, screen, end, add }: CommandContext,
  { env, cwd, stdin }: FileSources & { readonly env: Environment },
): void => {
  add(program, 'login', 'store the URL of a server and an API key, and use them from now on')
    .option('--url <url>', 'of the server; asked for by default')
    .option('--name <name>', "of the context that it becomes; the server's host by default")
    .addHelpText('after', LOGIN_HELP)
    .action(async (options: LoginOptions) => {
      end(await login({ env, stdin, screen }, options));
    });
  add(program, 'whoami', 'show the server, and whose the API key is').action(
    async ({ json = false }: Json) => {
      end(await whoami(await client(), json));
    },
  );
  add(
    program,
    'open [run]',
    "open the reference of the API, or a picture of a run's history, in a browser",
  ).action(async (run: string | undefined, { json = false }: Json) => {
    end(await openPage(await client(), env, run, json));
  });
  const group = program.command('context').description('the servers that you have logged in to');
  const place = { env, cwd, screen };
  add(group, 'list', 'list them; the current one has a star').action(async ({ json = false }: Json) => {
    end(await listContexts(place, json));
  });
  add(group, 'use <context>', 'use this one from now on; local is the standalone of the folder').action(
    async (name: string, { json = false }: Json) => {
      end(await useContext(place, name, json));
    },
  );
  add(group, 'remove <context>', 'forget a server and its key').action(
    async (name: string, { json = false }: Json) => {
      end(await removeContext(place, name, json));
    },
  );
};

const LOGIN_HELP = `
The key is asked for and not shown. Without a terminal it is read from standard input, or from
RUNLEDGER_API_KEY; it is never an argument. It is stored in $XDG_CONFIG_HOME/runledger/contexts.json
(~/.config by default), which only you can read.`;
