import { openClient } from '../api-client/client.ts';
import { findConnection, type Environment } from '../api-client/connection.ts';
import type { FileSources } from '../options/json-files.ts';
import { CommandError } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';
import type { CommandContext } from './command-context.ts';
import { withBasePath } from './with-base-path.ts';

const AUDIT_LOST =
  'The audit record of this command could not be stored. Look whether the broker is available and its disk has room.';

export interface Surroundings extends FileSources {
  readonly env: Environment;
  readonly screen: Screen;
}

/** How commands reach the API and the log. `contextName`: what `--context` names, if it was given. */
export const connecting = (
  { env, cwd, stdin, screen }: Surroundings,
  contextName: () => string | undefined,
): Pick<CommandContext, 'client' | 'asOperator'> => ({
  client: async () => {
    const found = await findConnection(env, cwd, contextName());
    const connection = await withBasePath(found);
    if (connection !== found)
      screen.hint(`${found.url} has no base path. Using ${connection.url}: set it instead.`);
    return openClient(connection, screen, { cwd, stdin });
  },
  asOperator: async (use) => {
    if (contextName() !== undefined)
      throw new CommandError(
        '--context names a server of the API, and this command uses the broker. Leave it out, and set RUNLEDGER_NATS_URL instead.',
      );
    // Clients of the API need nothing of the log.
    const [{ openLogAsOperator }, { operatorRecorder }] = await Promise.all([
      import('../broker-client/open-log.ts'),
      import('@runledger/event-log/audit/record-action'),
    ]);
    await using log = await openLogAsOperator(env, cwd);
    return await use({ log, screen, record: operatorRecorder(log, () => screen.hint(AUDIT_LOST)) });
  },
});
