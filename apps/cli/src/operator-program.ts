import type { EventLog } from '@runledger/event-log/event-log';
import type { Command } from 'commander';
import { createNamedOrganisation } from './commands/create-organisation.ts';
import { history } from './commands/history.ts';
import { provisionLog } from './commands/provision-log.ts';
import type { Environment } from './connection.ts';
import { openLogAsOperator } from './operator-connection.ts';
import type { Json, ProgramParts } from './program-parts.ts';

interface Place {
  readonly env: Environment;
  readonly cwd: string;
}

/** The commands of whoever runs the broker: they talk to the log itself. */
export const addOperatorCommands = (
  program: Command,
  { screen, add }: ProgramParts,
  { env, cwd }: Place,
): void => {
  const asOperator = async (use: (log: EventLog) => Promise<void>): Promise<void> => {
    await using log = await openLogAsOperator(env, cwd);
    await use(log);
  };
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
};
