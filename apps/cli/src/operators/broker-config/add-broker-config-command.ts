import type { Command } from 'commander';
import type { Json, CommandContext } from '../../command/command-context.ts';
import { makeBrokerConfig } from './make-broker-config.ts';
import { planUsers } from './plan-users.ts';
import { printBrokerConfig } from './print-broker-config.ts';

interface BrokerConfigOptions extends Json {
  readonly out: string;
  readonly executor?: string[];
  readonly remove?: string[];
  readonly rotate?: string[];
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
    .action(async (options: BrokerConfigOptions) => {
      const { executor = [], remove = [], rotate = [], json = false } = options;
      const plan = await planUsers({ cwd, folder: options.out, executor, remove, rotate });
      printBrokerConfig(await makeBrokerConfig(plan), screen, json);
    });
};
