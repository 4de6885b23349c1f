import { Command, CommanderError, Option } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { messageOf } from '@runledger/resilience/errors';
import type { Environment } from './api/connection.ts';
import { addAccountCommands } from './organisations/accounts.ts';
import { addAuditCommands } from './organisations/audit.ts';
import { addDeploymentCommands } from './catalogue/deployments.ts';
import { addMachineCommands } from './catalogue/machines.ts';
import { addWorkflowCommands } from './catalogue/workflows.ts';
import { type CommandContext, connecting } from './command/command-context.ts';
import { addDeployCommand } from './catalogue/deploy.ts';
import { addDevCommand } from './folder/dev.ts';
import { addLocalRunCommand } from './folder/run-command.ts';
import { addDeployedVersionCommands } from './catalogue/deployed-versions.ts';
import { addExecutorCommands } from './operators/executors.ts';
import { addQueuesCommand } from './operators/queues.ts';
import { addExportCommand } from './runs/export.ts';
import { addFileCommands } from './runs/files.ts';
import { addOperatorCommands } from './operators/operator-commands.ts';
import { addKeyCommands } from './organisations/api-keys.ts';
import { addSecretCommands } from './organisations/secrets.ts';
import { addRetentionCommands, addUsageCommand } from './organisations/usage-and-retention.ts';
import { CommandError, EXIT, type ExitCode } from './command/command-error.ts';
import type { Screen } from './command/screen.ts';
import { addSealedValueCommands } from './catalogue/sealed-values.ts';
import { addCompletionCommands } from './completion/completion.ts';
import { addServerCommands } from './servers/servers.ts';
import { addScheduleCommands } from './catalogue/schedules.ts';
import { addReplayCommands } from './operators/slice-commands.ts';
import { addRunCommands, addManyRunsCommands } from './runs/run-commands.ts';
import { runIdOf } from './runs/run-reference.ts';
import { addHistoryCommands } from './runs/history.ts';
import { addWebhookCommands } from './webhooks/webhook-commands.ts';

export interface ProgramEnvironment {
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly screen: Screen;
  /** For a result that is not text. */
  readonly stdout: NodeJS.WritableStream;
  /** For a command that stops in order when it is interrupted. Other commands end at once. */
  readonly untilInterrupted: () => AbortSignal;
}

const HELP = `
Connection: --context NAME; else RUNLEDGER_URL and RUNLEDGER_API_KEY, RUNLEDGER_CONTEXT, or
RUNLEDGER_DATA_DIR (the folder of a standalone); else the context that runledger login or
runledger context use chose; else connection.json of a running standalone in .runledger here or
above, which --context local names. The commands marked
(operator), and keys create --operator, use the broker: RUNLEDGER_NATS_URL with _NKEY_FILE, or with
_USER and _PASSWORD, else operator.json there. broker-config needs no connection.
provision takes the limits of the log from RUNLEDGER_LOG_SETTINGS (JSON).

Output: a terminal has relative times and colours (NO_COLOR, FORCE_COLOR); everything else, and
--json, has ISO 8601. Without a terminal a creation prints the id of the record alone.

Exit codes: 0 done, or the watched run succeeded; 1 the watched run failed or timed out, or
verify or shadow found a difference;
2 the command failed; 130 the watched run was cancelled, or the command was interrupted (Ctrl-C).`;

/** Parses the arguments, runs the command and returns the exit code. It never rejects. */
export const runProgram = async (
  args: readonly string[],
  environment: ProgramEnvironment,
): Promise<ExitCode> => {
  let code: ExitCode = EXIT.done;
  const program = commands(environment, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has printed its message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.notDone;
    environment.screen.hint(args.includes('--json') ? jsonOf(error) : whatFailed(error));
    return EXIT.notDone;
  }
};

const whatFailed = (error: unknown): string => {
  if (error instanceof CommandError) return error.message;
  return `The command failed: ${messageOf(error)}`;
};

/** For programs, what the service refused is an object too. */
const jsonOf = (error: unknown): string => {
  const refusal = error instanceof CommandError ? error.refusal : undefined;
  return refusal ? JSON.stringify({ error: whatFailed(error), ...refusal }) : whatFailed(error);
};

const commands = (environment: ProgramEnvironment, end: (code: ExitCode) => void): Command => {
  const { screen, stdout, untilInterrupted } = environment;
  /** Of `--context`. */
  let chosen: string | undefined;
  const program = new Command('runledger')
    .description('Queues, watches and manages runs.')
    .configureOutput({
      writeOut: (text) => screen.print(withoutLineEnd(text)),
      writeErr: (text) => screen.hint(withoutLineEnd(text)),
    })
    .exitOverride()
    .showHelpAfterError('(see runledger --help)')
    .version(packageJson.version, '--version', 'print the version')
    .option('--context <name>', 'the server to use, as runledger context list shows it')
    .addHelpText('after', HELP)
    .hook('preAction', (_program, command) => {
      const { context, json } = command.optsWithGlobals<{
        readonly context?: string;
        readonly json?: true;
      }>();
      chosen = context;
      if (!json) return;
      screen.useJson();
      // It is of the screen, and no option of what a command does.
      command.setOptionValue('json', undefined);
    });
  const add = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'print JSON, one value a line');
  const ways = connecting(environment, () => chosen);
  const withClient: CommandContext['withClient'] =
    (use) =>
    async (...given) => {
      const code = await use(await ways.client(), ...given);
      if (code !== undefined) end(code);
    };
  const withRun: CommandContext['withRun'] = (use) =>
    withClient(async (client, run: string, ...given) =>
      use(client, await runIdOf(client.call, run), ...given),
    );
  addAll(program, { ...ways, withClient, withRun, screen, stdout, untilInterrupted, end, add }, environment);
  acceptContextEverywhere(program);
  // Only of the program: deployments have a --version of their own.
  return program.enablePositionalOptions();
};

/** In the order in which the help lists them. */
const addAll = (program: Command, context: CommandContext, environment: ProgramEnvironment): void => {
  addDeployCommand(program, context);
  addDeployedVersionCommands(program, context);
  addDevCommand(program, context);
  addLocalRunCommand(program, context, environment);
  addRunCommands(program, context);
  addHistoryCommands(program, context);
  addManyRunsCommands(program, context);
  addExportCommand(program, context);
  addReplayCommands(program, context, environment);
  addWebhookCommands(program, context);
  addDeploymentCommands(program, context);
  addScheduleCommands(program, context);
  addWorkflowCommands(program, context);
  addMachineCommands(program, context);
  addKeyCommands(program, context);
  addSecretCommands(program, context, environment.stdin);
  addFileCommands(program, context);
  addUsageCommand(program, context);
  addRetentionCommands(program, context);
  addExecutorCommands(program, context);
  addQueuesCommand(program, context);
  addSealedValueCommands(program, context);
  addAccountCommands(program, context);
  addAuditCommands(program, context);
  addServerCommands(program, context, environment);
  addOperatorCommands(program, context, environment);
  addCompletionCommands(program, context, environment);
};

/** `--context` may stand behind the name of a command too. */
const acceptContextEverywhere = (command: Command): void => {
  for (const one of command.commands) {
    const isGroup = one.commands.length > 0 && one.options.length === 0;
    if (!isGroup) one.addOption(new Option('--context <name>').hideHelp());
    acceptContextEverywhere(one);
  }
};

const withoutLineEnd = (text: string): string => text.replace(/\n$/, '');
