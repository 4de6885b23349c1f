import type { Command } from 'commander';
import type { ProvisionOptions } from '@runledger/event-log/provision/provision';
import { addErasureCommands } from '../organisations/usage-and-retention.ts';
import type { CommandContext } from '../command/command-context.ts';
import { addCaptureCommand } from './slice-commands.ts';
import type { RebuildOptions } from './rebuild.ts';
import type { VerifyOptions } from './verify.ts';
import type { Environment } from '../api/connection.ts';
import type { FileSources } from '../command/option-values.ts';
import type { MigrateOptions } from './cluster.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { DeadLetterListOptions, RedriveOptions } from './dead-letters.ts';

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
    .action(async (options: VerifyOptions) => {
      const { verify } = await import('./verify.ts');
      end(await asOperator((operator) => verify(operator, options)));
    });
  add(program, 'rebuild', 'build the views of runs again from the log, beside the live ones (operator)')
    .option('--accept-differences', 'put them in place also where the live ones differ')
    .option('--stop', 'stop it, and remove what was built')
    .action(async (options: RebuildOptions) => {
      const { rebuild } = await import('./rebuild.ts');
      end(await asOperator((operator) => rebuild(operator, options)));
    });
  add(program, 'provision', 'create or update the streams and buckets of the log (operator)')
    .option('--allow-fewer-replicas', 'let streams have fewer copies than they have now')
    .option(
      '--accept-loss <sequences>',
      'go on without these facts, which the log has lost, such as 1029-1040; services that wait name them',
    )
    .action((options: ProvisionOptions) =>
      asOperator(async (operator) => {
        const { provisionLog } = await import('./open-log.ts');
        const { away } = await provisionLog(operator, env, options);
        const later = away.length === 0 ? '' : ` Away: ${away.join(', ')}. They follow when they are back.`;
        screen.result({ provisioned: true, away }, () => `The streams and buckets are up to date.${later}`);
      }),
    );
};

const addOrganisationCommands = (program: Command, context: CommandContext): void => {
  const { asOperator, add } = context;
  const organisations = program.command('organisations').description('manage organisations (operator)');
  add(organisations, 'create <name>', 'create an organisation with a key and the sample')
    .option('--operator', 'its key may also see and drain the executors, which all organisations share')
    .action(async (name: string, { operator: isOperator = false }: { readonly operator?: boolean }) => {
      const { createNamedOrganisation } = await import('../organisations/organisations.ts');
      await asOperator((operator) => createNamedOrganisation(operator, name, isOperator));
    });
  add(organisations, 'list', 'list all organisations, oldest first').action(async () => {
    const { listOrganisations } = await import('../organisations/organisations.ts');
    await asOperator(listOrganisations);
  });
  addErasureCommands(organisations, context);
};

interface BrokerConfigOptions {
  readonly out: string;
  readonly executor?: string[];
  readonly remove?: string[];
  readonly rotate?: string[];
  readonly nodes?: string;
  readonly hosts?: string[];
  readonly installedAt?: string;
  readonly store?: string;
}

/** The folder that docker-compose.yml uses and git ignores. */
const DEFAULT_FOLDER = 'deploy/secrets/nats';

/** Writes files, and connects to nothing. */
const addBrokerConfigCommand = (program: Command, { screen, add }: CommandContext, cwd: string): void => {
  add(
    program,
    'broker-config',
    'make the keys of all users of the broker, and its configuration with their permissions (operator)',
  )
    .option('--out <folder>', 'for broker.conf and keys; existing keys are kept', DEFAULT_FOLDER)
    .option('--executor <name...>', 'add an executor with this EXECUTOR_NAME')
    .option('--remove <name...>', 'remove an executor')
    .option('--rotate <user...>', 'make a new key for this user')
    .option(
      '--nodes <number>',
      'make the configurations of this many brokers that hold the log together: 3, or 5',
    )
    .option('--hosts <host...>', 'where each of them is reached, HOST or HOST:PORT (nats-1 nats-2 …)')
    .option(
      '--installed-at <folder>',
      'where the files of each lie on its machine; left out: where they are made',
    )
    .option('--store <folder>', 'where each stores the log; left out: in data beside its files')
    .action(async (options: BrokerConfigOptions) => {
      const { out, executor = [], remove = [], rotate = [], ...nodes } = options;
      const [{ planUsers }, { makeBrokerConfig, printBrokerConfig }] = await Promise.all([
        import('./plan-broker-config.ts'),
        import('./broker-config.ts'),
      ]);
      const plan = await planUsers({ ...nodes, cwd, folder: out, executor, remove, rotate });
      printBrokerConfig(await makeBrokerConfig(plan, new Date()), screen);
    });
};

/** Commands for a log that several brokers hold. */
const addClusterCommands = (
  program: Command,
  { screen, add, end, untilInterrupted }: CommandContext,
  { env, cwd }: { readonly env: Environment; readonly cwd: string },
): void => {
  const cluster = program.command('cluster').description('the brokers that hold the log together (operator)');
  add(cluster, 'migrate', 'move the log from one broker to three, and prove that nothing is missing')
    .option('--to <urls>', 'the new brokers, with commas between them; the old one is RUNLEDGER_NATS_URL')
    .option('--to-nkey-file <file>', "the operator's seed there; left out: the same credentials")
    .option('--back', 'take the log back to the old broker, until the move is confirmed')
    .option('--discard-newer', 'with --back: lose what only the new brokers have')
    .option('--confirm', 'end the possibility to go back')
    .action(async (options: MigrateOptions) => {
      const { migrateLog } = await import('./cluster.ts');
      end(await migrateLog({ env, cwd, screen, untilInterrupted }, options));
    });
  add(
    cluster,
    'remove <broker>',
    'take a broker that never comes back out of the cluster, as the system user',
  ).action(async (broker: string) => {
    const { removeBrokerNamed } = await import('./cluster.ts');
    end(await removeBrokerNamed({ env, cwd, screen, untilInterrupted }, broker));
  });
};

/** The commands about messages that no consumer could handle. They read the log directly, so they are for operators. */
const addDeadLetterCommands = (program: Command, { asOperator, end, add }: CommandContext): void => {
  const group = program
    .command('dead-letters')
    .description('messages that no consumer could handle (operator)');
  addFilter(add(group, 'list', 'list dead letters, oldest first'))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: DeadLetterListOptions) => {
      const { printDeadLetters } = await import('./dead-letters.ts');
      await asOperator((operator) => printDeadLetters(operator, options));
    });
  add(group, 'show <position>', 'show why a consumer rejected it, and its content').action(
    async (position: string) => {
      const { showDeadLetter } = await import('./dead-letters.ts');
      await asOperator((operator) => showDeadLetter(operator, position));
    },
  );
  addFilter(add(group, 'redrive [position]', 'let the service handle it again, with its current release'))
    .option('--all', 'all that match, oldest first')
    .action(async (position: string | undefined, options: RedriveOptions) => {
      const { redriveDeadLetters } = await import('./dead-letters.ts');
      end(await asOperator((operator) => redriveDeadLetters(operator, position, options)));
    });
};

const addFilter = (command: Command): Command =>
  command
    .option('--stream <name>', 'only from this stream, such as RUNS')
    .option('--consumer <name>', 'only from this consumer, such as scheduler, projection or executor-NAME');
