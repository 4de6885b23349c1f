import type { Command } from 'commander';
import type { Json, CommandContext } from '../../command/command-context.ts';

interface BrokerConfigOptions extends Json {
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
export const addBrokerConfigCommand = (
  program: Command,
  { screen, add }: Pick<CommandContext, 'screen' | 'add'>,
  cwd: string,
): void => {
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
      const { out, executor = [], remove = [], rotate = [], json = false, ...nodes } = options;
      const [{ planUsers }, { makeBrokerConfig }, { printBrokerConfig }] = await Promise.all([
        import('./plan-users.ts'),
        import('./make-broker-config.ts'),
        import('./print-broker-config.ts'),
      ]);
      const plan = await planUsers({ ...nodes, cwd, folder: out, executor, remove, rotate });
      printBrokerConfig(await makeBrokerConfig(plan, new Date()), screen, json);
    });
};
