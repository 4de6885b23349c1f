import { Command, CommanderError } from 'commander';
import { openClient } from './api-client/client.ts';
import type { Client } from './api-client/client.ts';
import { findConnection } from './api-client/connection.ts';
import type { Environment } from './api-client/connection.ts';
import { addAuditCommands } from './audit/audit-commands.ts';
import { addDeploymentCommands } from './catalogue/deployments.ts';
import { addMachineCommands } from './catalogue/machines.ts';
import { addWorkflowCommands } from './catalogue/workflows.ts';
import type { CommandContext, Operator } from './command/command-context.ts';
import { addDeployCommand } from './deploy/add-deploy-command.ts';
import { addExecutorCommands } from './executors/executors.ts';
import { addQueuesCommand } from './executors/queues.ts';
import { addExportCommand } from './export/add-export-command.ts';
import { addFileCommands } from './files/add-file-commands.ts';
import { addOperatorCommands } from './operators/add-operator-commands.ts';
import { addKeyCommands } from './organisations/api-keys.ts';
import { addRetentionCommands } from './organisations/retention.ts';
import { addUsageCommand } from './organisations/usage.ts';
import { CommandError, EXIT } from './output/command-error.ts';
import type { ExitCode } from './output/command-error.ts';
import type { Screen } from './output/screen.ts';
import { addSealedValueCommands } from './sealing/sealed-values.ts';
import { addScheduleCommands } from './schedules/schedules.ts';
import { addReplayCommands } from './replay/add-replay-commands.ts';
import { addReceiptCommands } from './receipts/add-receipt-commands.ts';
import { addHistoryCommands } from './run-history/add-history-commands.ts';
import { addRunCommands } from './runs/add-run-commands.ts';
import { addManyRunsCommands } from './runs/many-runs.ts';
import { addWebhookCommands } from './webhooks/add-webhook-commands.ts';

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
Connection: RUNLEDGER_URL and RUNLEDGER_API_KEY, else connection.json of a running standalone in
.runledger here or above (RUNLEDGER_DATA_DIR names another folder). The commands marked
(operator), and keys create --operator, use the broker: RUNLEDGER_NATS_URL with _NKEY_FILE, or with
_USER and _PASSWORD, else operator.json there. broker-config needs no connection.
provision takes the limits of the log from RUNLEDGER_LOG_SETTINGS (JSON).

Exit codes: 0 done, or the watched run succeeded; 1 the watched run failed or timed out, or
verify or shadow found a difference;
2 the command failed; 130 the watched run was cancelled, or the command was interrupted (Ctrl-C).`;

const AUDIT_LOST =
  'The audit record of this command could not be stored. Look whether AUDIT is full, and raise auditMaxBytes in RUNLEDGER_LOG_SETTINGS.';

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
    environment.screen.hint(messageOf(error));
    return EXIT.notDone;
  }
};

const messageOf = (error: unknown): string => {
  if (error instanceof CommandError) return error.message;
  return `The command failed: ${error instanceof Error ? error.message : String(error)}`;
};

const commands = (environment: ProgramEnvironment, end: (code: ExitCode) => void): Command => {
  const { env, cwd, stdin, screen, stdout, untilInterrupted } = environment;
  const client = async (): Promise<Client> =>
    openClient(await findConnection(env, cwd), screen, { cwd, stdin });
  const asOperator = async <Result>(use: (operator: Operator) => Promise<Result>): Promise<Result> => {
    // Clients of the API need nothing of the log.
    const [{ openLogAsOperator }, { operatorRecorder }] = await Promise.all([
      import('./broker-client/open-log.ts'),
      import('@runledger/event-log/audit/record-action'),
    ]);
    await using log = await openLogAsOperator(env, cwd);
    return await use({ log, screen, record: operatorRecorder(log, () => screen.hint(AUDIT_LOST)) });
  };

  const program = new Command('runledger')
    .description('Queues, watches and manages runs.')
    .configureOutput({
      writeOut: (text) => screen.print(withoutLineEnd(text)),
      writeErr: (text) => screen.hint(withoutLineEnd(text)),
    })
    .exitOverride()
    .showHelpAfterError('(see runledger --help)')
    .addHelpText('after', HELP);
  const add = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'print JSON, one value a line');

  const context: CommandContext = { client, asOperator, screen, stdout, untilInterrupted, end, add };
  addDeployCommand(program, context);
  addRunCommands(program, context);
  addHistoryCommands(program, context);
  addManyRunsCommands(program, context);
  addExportCommand(program, context);
  addReceiptCommands(program, context, environment);
  addReplayCommands(program, context, environment);
  addWebhookCommands(program, context);
  addDeploymentCommands(program, context);
  addScheduleCommands(program, context);
  addWorkflowCommands(program, context);
  addMachineCommands(program, context);
  addKeyCommands(program, context);
  addFileCommands(program, context);
  addUsageCommand(program, context);
  addRetentionCommands(program, context);
  addExecutorCommands(program, context);
  addQueuesCommand(program, context);
  addSealedValueCommands(program, context);
  addAuditCommands(program, context);
  addOperatorCommands(program, context, environment);
  return program;
};

const withoutLineEnd = (text: string): string => text.replace(/\n$/, '');
