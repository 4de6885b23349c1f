import type { Command } from 'commander';
import { addErasureCommands } from '../organisations/erase-organisation.ts';
import type { ProvisionOptions } from '@runledger/event-log/provision/provision';
import type { Json, CommandContext } from '../command/command-context.ts';
import { addCaptureCommand } from './capture/add-capture-command.ts';
import { addBrokerConfigCommand } from './broker-config/add-broker-config-command.ts';
import { addClusterCommands } from './cluster/add-cluster-commands.ts';
import { addDeadLetterCommands } from './dead-letters/add-dead-letter-commands.ts';
import type { RebuildOptions } from './rebuild/rebuild.ts';
import type { VerifyOptions } from './verify/verify.ts';
import type { Environment } from '../api-client/connection.ts';
import type { FileSources } from '../options/json-files.ts';

interface CreateOrganisationOptions extends Json {
  readonly operator?: boolean;
}

/**
 * The commands of the operator. What they do is loaded when they run, because clients of the API need nothing of the log. All but broker-config, and the erasure of organisations, use the log directly.
 */
export const addOperatorCommands = (
  program: Command,
  context: CommandContext,
  here: FileSources & { readonly env: Environment },
): void => {
  addLogCommands(program, context, here.env);
  addCaptureCommand(program, context, here);
  addOrganisationCommands(program, context);
  addDeadLetterCommands(program, context);
  addBrokerConfigCommand(program, context, here.cwd);
  addClusterCommands(program, context, here);
};

const addLogCommands = (
  program: Command,
  { asOperator, screen, add, end }: CommandContext,
  env: Environment,
): void => {
  add(program, 'verify', 'fold the log, and compare the order of facts, writers, views and blobs (operator)')
    .option('--run <run>', 'only this run')
    .option('--sample <percent>', 'only such a part of the runs, the same each time, such as 5%')
    .option('--no-views', 'do not compare the views of the gateways')
    .option('--no-blobs', 'do not read the blobs that runs refer to')
    .option(
      '--archive',
      'also verify each segment of the archive, against the log as long as it has the facts',
    )
    .action(async (options: VerifyOptions) => {
      const { verify } = await import('./verify/verify.ts');
      end(await asOperator((operator) => verify(operator, options)));
    });
  add(program, 'rebuild', 'build the views of runs again from the log, beside the live ones (operator)')
    .option('--accept-differences', 'put them in place also where the live ones differ')
    .option('--stop', 'stop it, and remove what was built')
    .action(async (options: RebuildOptions) => {
      const { rebuild } = await import('./rebuild/rebuild.ts');
      end(await asOperator((operator) => rebuild(operator, options)));
    });
  add(program, 'provision', 'create or update the streams and buckets of the log (operator)')
    .option('--allow-fewer-replicas', 'let streams have fewer copies than they have now')
    .option(
      '--accept-loss <sequences>',
      'go on without these facts, which the log has lost, such as 1029-1040; services that wait name them',
    )
    .action(({ json = false, ...options }: Json & ProvisionOptions) =>
      asOperator(async ({ log, record }) => {
        const { provisionLog } = await import('./provision-log.ts');
        const { away } = await provisionLog({ log, record }, env, options);
        if (json) screen.printJson({ provisioned: true, away });
        else if (away.length === 0) screen.print('The streams and buckets are up to date.');
        else
          screen.print(
            `The streams and buckets are up to date. Away: ${away.join(', ')}. They follow when they are back.`,
          );
      }),
    );
};

const addOrganisationCommands = (program: Command, context: CommandContext): void => {
  const { asOperator, add } = context;
  const organisations = program.command('organisations').description('manage organisations (operator)');
  add(organisations, 'create <name>', 'create an organisation with a key and the sample')
    .option('--operator', 'its key may also see and drain the executors, which all organisations share')
    .action(async (name: string, options: CreateOrganisationOptions) => {
      const { createNamedOrganisation } = await import('../organisations/create-organisation.ts');
      await asOperator((operator) => createNamedOrganisation(operator, name, options));
    });
  add(organisations, 'list', 'list all organisations, oldest first').action(
    async ({ json = false }: Json) => {
      const { listOrganisations } = await import('../organisations/list-organisations.ts');
      await asOperator((operator) => listOrganisations(operator, json));
    },
  );
  addErasureCommands(organisations, context);
};
