import { RemovalRefused, removeBroker } from '@runledger/event-log/brokers/remove-broker';
import { findBroker } from '../../broker-client/broker-credentials.ts';
import { openLogAt } from '../../broker-client/open-log.ts';
import type { Json } from '../../command/command-context.ts';
import { CommandError, EXIT, type ExitCode } from '../../output/command-error.ts';
import type { MigrateContext } from './migrate-log.ts';

/** As the system user of the brokers. @throws CommandError */
export const removeBrokerNamed = async (
  { env, cwd, screen, untilInterrupted }: MigrateContext,
  name: string,
  { json = false }: Json,
): Promise<ExitCode> => {
  await using log = await openLogAt(await findBroker(env, cwd));
  const signal = untilInterrupted();
  try {
    const brokers = await removeBroker(log, name, {
      signal,
      onCopying: (streams) => screen.redraw(`waiting for the copies of ${streams.join(', ')}`),
    });
    if (json) screen.printJson({ removed: name, brokers });
    else screen.print(`${name} is removed. The log is complete at ${brokers.join(', ')}.`);
    screen.hint(`Delete the data folder of ${name}, and do not start it again.`);
    return EXIT.done;
  } catch (error) {
    if (error instanceof RemovalRefused) throw new CommandError(error.message);
    if (!signal.aborted) throw error;
    screen.hint(
      `Interrupted. ${name} is removed, and the others go on making copies: wait for "/readyz" to name no stream.`,
    );
    return EXIT.cancelled;
  }
};
