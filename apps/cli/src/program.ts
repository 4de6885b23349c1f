import { Command, CommanderError } from 'commander';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openClient } from './api-client/client.ts';
import { addBrokerConfigCommand } from './operators/broker-config/add-broker-config-command.ts';
import type { Client } from './api-client/client.ts';
import { findConnection } from './api-client/connection.ts';
import type { Environment } from './api-client/connection.ts';
import { EXIT, CommandError } from './output/command-error.ts';
import type { ExitCode } from './output/command-error.ts';
import { openLogAsOperator } from './operators/open-log.ts';
import { addOperatorCommands } from './operators/add-operator-commands.ts';
import type { CommandContext } from './command/command-context.ts';
import { addDeploymentCommands } from './catalogue/deployments.ts';
import { addExecutorCommands } from './executors/executors.ts';
import { addKeyCommands } from './organisations/api-keys.ts';
import { addMachineCommands } from './catalogue/machines.ts';
import { addManyRunsCommands } from './runs/many-runs.ts';
import { addWorkflowCommands } from './catalogue/workflows.ts';
import { addDeadLetterCommands } from './operators/dead-letters/add-dead-letter-commands.ts';
import { addRunCommands } from './runs/add-run-commands.ts';
import type { Screen } from './output/screen.ts';
import { addWebhookCommands } from './webhooks/add-webhook-commands.ts';

export interface ProgramEnvironment {
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly screen: Screen;
  /** For a command that ends in order when it is interrupted; others are cut off. */
  readonly untilInterrupted: () => AbortSignal;
}

const HELP = `
Connection: RUNLEDGER_URL and RUNLEDGER_API_KEY, else connection.json of a running standalone in
.runledger here or above (RUNLEDGER_DATA_DIR names another folder). The commands for operators
(history, organisations, parked, provision, keys create --operator) use RUNLEDGER_NATS_URL with _NKEY_FILE,
or with _USER and _PASSWORD, else operator.json there.
provision takes the limits of the log from RUNLEDGER_LOG_SETTINGS (JSON).

Exit codes: 0 done, or the watched run succeeded; 1 the watched run failed or timed out;
2 the command could not be done; 130 the watched run was cancelled, or the watching was (Ctrl-C).`;

/** Reads the command line, does what it says, and gives the exit code. */
export const runProgram = async (
  args: readonly string[],
  surroundings: ProgramEnvironment,
): Promise<ExitCode> => {
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
    if (!(error instanceof CommandError)) throw error;
    surroundings.screen.hint(error.message);
    return EXIT.notDone;
  }
};

const commands = (surroundings: ProgramEnvironment, end: (code: ExitCode) => void): Command => {
  const { env, cwd, stdin, screen, untilInterrupted } = surroundings;
  const client = async (): Promise<Client> =>
    openClient(await findConnection(env, cwd), screen, { cwd, stdin });
  const asOperator = async <Result>(use: (log: EventLog) => Promise<Result>): Promise<Result> => {
    await using log = await openLogAsOperator(env, cwd);
    return await use(log);
  };

  const program = new Command('runledger')
    .description('Queues, watches and explains runs.')
    .exitOverride()
    .showHelpAfterError('(see runledger --help)')
    .addHelpText('after', HELP);
  const add = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'print JSON, one value a line');

  const parts: CommandContext = { client, asOperator, screen, untilInterrupted, end, add };
  addRunCommands(program, parts);
  addManyRunsCommands(program, parts);
  addWebhookCommands(program, parts);
  addDeploymentCommands(program, parts);
  addWorkflowCommands(program, parts);
  addMachineCommands(program, parts);
  addKeyCommands(program, parts);
  addExecutorCommands(program, parts);
  addOperatorCommands(program, parts, env);
  addDeadLetterCommands(program, parts);
  addBrokerConfigCommand(program, parts, cwd);
  return program;
};
