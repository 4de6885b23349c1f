import { Command, CommanderError } from 'commander';
import { provisionLog } from './commands/provision-log.ts';
import { createNamedOrganisation } from './commands/create-organisation.ts';
import { history } from './commands/history.ts';
import { cancel, get, queue } from './commands/run-commands.ts';
import type { Client, QueueOptions } from './commands/run-commands.ts';
import { findConnection } from './connection.ts';
import type { Environment } from './connection.ts';
import { EXIT, Explained } from './explained.ts';
import type { ExitCode } from './explained.ts';
import { openLogAsOperator } from './operator-connection.ts';
import { runApi } from './run-api.ts';
import type { Screen } from './screen.ts';
import { watchRun } from './watch-run.ts';
import { addWebhookCommands } from './webhook-program.ts';
import type { EventLog } from '@runledger/event-log/event-log';

export interface Surroundings {
  readonly env: Environment;
  readonly cwd: string;
  readonly screen: Screen;
  /** For a command that ends in order when it is interrupted; others are cut off. */
  readonly untilInterrupted: () => AbortSignal;
}

interface Json {
  readonly json?: boolean;
}

const HELP = `
Connection: RUNLEDGER_URL and RUNLEDGER_API_KEY, else connection.json of a running standalone in
.runledger here or above (RUNLEDGER_DATA_DIR names another folder). The commands for operators
(history, organisations, provision) use RUNLEDGER_NATS_URL, _USER and _PASSWORD, else operator.json there.
provision takes the limits of the log from RUNLEDGER_LOG_SETTINGS (JSON).

Exit codes: 0 done, or the watched run succeeded; 1 the watched run failed or timed out;
2 the command could not be done; 130 the watched run was cancelled, or the watching was (Ctrl-C).`;

/** Reads the command line, does what it says, and gives the exit code. */
export const runProgram = async (args: readonly string[], surroundings: Surroundings): Promise<ExitCode> => {
  let code: ExitCode = EXIT.done;
  const program = commands(surroundings, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has told it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.notDone;
    if (!(error instanceof Explained)) throw error;
    surroundings.screen.hint(error.message);
    return EXIT.notDone;
  }
};

const commands = (surroundings: Surroundings, end: (code: ExitCode) => void): Command => {
  const { env, cwd, screen, untilInterrupted } = surroundings;
  const client = async (): Promise<Client> => {
    const connection = await findConnection(env, cwd);
    return { connection, api: runApi(connection), screen };
  };
  const asOperator = async (use: (log: EventLog) => Promise<void>): Promise<void> => {
    await using log = await openLogAsOperator(env, cwd);
    await use(log);
  };

  const program = new Command('runledger')
    .description('Queues, watches and explains runs.')
    .exitOverride()
    .showHelpAfterError('(see runledger --help)')
    .addHelpText('after', HELP);
  const add = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'print JSON, one value a line');

  add(program, 'queue', 'queue a run; prints its id')
    .option('--input <name=value>', 'an input; may be repeated', (pair, all: string[]) => [...all, pair], [])
    .option('--inputs <json>', 'all inputs as a JSON object')
    .option('--deployment <id>', 'what to run; the sample of a standalone when left out')
    .option('--gpu <model>', "the GPU to run on; the deployment's when left out")
    .option('--webhook <url>', 'called when the run has ended')
    .option('--webhook-intermediate-status', 'the webhook is called on the way too')
    .option('--watch', 'show the run until it has ended')
    .action(async (options: QueueOptions) => end(await queue(await client(), options)));
  add(program, 'get <run>', 'show a run').action(async (run: string, { json = false }: Json) =>
    end(await get(await client(), run, json)),
  );
  add(program, 'cancel <run>', 'cancel a run').action(async (run: string, { json = false }: Json) =>
    end(await cancel(await client(), run, json)),
  );
  add(program, 'watch <run>', 'show a run until it has ended').action(
    async (run: string, { json = false }: Json) =>
      end(await watchRun((await client()).api, run, screen, json)),
  );
  addWebhookCommands(program, { client, screen, untilInterrupted, end, add });
  add(program, 'history <run>', 'the events of a run as the log holds them (operator)').action(
    (run: string, { json = false }: Json) => asOperator((log) => history(log, run, screen, json)),
  );
  const organisations = program.command('organisations').description('manage organisations (operator)');
  add(organisations, 'create <name>', 'a new organisation with a key and the sample').action(
    (name: string, { json = false }: Json) =>
      asOperator((log) => createNamedOrganisation(log, name, screen, json)),
  );
  add(
    program,
    'provision',
    'make the streams and buckets of the log, or bring them up to date (operator)',
  ).action(({ json = false }: Json) =>
    asOperator(async (log) => {
      await provisionLog(log, env);
      if (json) screen.printJson({ provisioned: true });
      else screen.print('The streams and buckets are there.');
    }),
  );
  return program;
};
