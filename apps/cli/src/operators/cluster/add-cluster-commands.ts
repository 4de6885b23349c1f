import type { Command } from 'commander';
import type { Environment } from '../../api-client/connection.ts';
import type { CommandContext, Json } from '../../command/command-context.ts';
import type { MigrateOptions } from './migrate-log.ts';

/** Commands for a log that several brokers hold. */
export const addClusterCommands = (
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
      const { migrateLog } = await import('./migrate-log.ts');
      end(await migrateLog({ env, cwd, screen, untilInterrupted }, options));
    });
  add(
    cluster,
    'remove <broker>',
    'take a broker that never comes back out of the cluster, as the system user',
  ).action(async (broker: string, options: Json) => {
    const { removeBrokerNamed } = await import('./remove-broker.ts');
    end(await removeBrokerNamed({ env, cwd, screen, untilInterrupted }, broker, options));
  });
};
