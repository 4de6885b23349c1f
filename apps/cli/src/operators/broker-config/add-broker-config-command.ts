import type { Command } from 'commander';
import type { Json, CommandContext } from '../../command/command-context.ts';
import { makeBrokerConfig } from './make-broker-config.ts';
import { planUsers } from './plan-users.ts';
import { tellBrokerConfig } from './print-broker-config.ts';

interface BrokerConfigOptions extends Json {
  readonly out: string;
  readonly executor?: string[];
  readonly remove?: string[];
  readonly rotate?: string[];
}

/** Where docker-compose.yml looks for it, and what git ignores. */
const USUAL_FOLDER = 'deploy/secrets/nats';

/** Writes files here, and talks to nobody. */
export const addBrokerConfigCommand = (
  program: Command,
  { screen, add }: Pick<CommandContext, 'screen' | 'add'>,
  cwd: string,
): void => {
  add(
    program,
    'broker-config',
    'make keys for everybody at the broker, and its configuration: who may do what (operator)',
  )
    .option('--out <folder>', 'for broker.conf and keys; what is there is kept', USUAL_FOLDER)
    .option('--executor <name...>', 'also an executor with this EXECUTOR_NAME')
    .option('--remove <name...>', 'an executor that is let in no more')
    .option('--rotate <user...>', 'a user that gets a new key')
    .action(async (options: BrokerConfigOptions) => {
      const { executor = [], remove = [], rotate = [], json = false } = options;
      const plan = await planUsers({ cwd, folder: options.out, executor, remove, rotate });
      tellBrokerConfig(await makeBrokerConfig(plan), screen, json);
    });
};
