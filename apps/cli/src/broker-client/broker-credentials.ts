import type { BrokerSettings } from '@runledger/event-log/connect/event-log';
import { readOperatorFile } from '@runledger/standalone/connection-files';
import { readBrokerCredentials } from '../api-client/cli-settings.ts';
import { findDataFolder } from '../api-client/connection.ts';
import type { Environment } from '../api-client/connection.ts';
import { CommandError } from '../output/command-error.ts';

export const OPERATOR_WAYS =
  'This command uses the log directly, with the credentials of the operator of the broker.\n' +
  'Run it in the folder of a standalone or below (its data folder has operator.json), or with RUNLEDGER_DATA_DIR;\n' +
  'or set RUNLEDGER_NATS_URL, and RUNLEDGER_NATS_NKEY_FILE or RUNLEDGER_NATS_USER and RUNLEDGER_NATS_PASSWORD.';

/** The broker and the operator's credentials, from the environment or the nearest standalone. @throws CommandError, ConfigError */
export const findBroker = async (env: Environment, cwd: string): Promise<BrokerSettings> => {
  const given = readBrokerCredentials(env);
  if (given !== undefined) return settings(given);
  const folder = findDataFolder(env, cwd);
  if (folder === undefined) throw new CommandError(`No broker was found.\n${OPERATOR_WAYS}`);
  const file = await readOperatorFile(folder);
  switch (file.kind) {
    case 'found': {
      const { nats_url: url, nats_nkey: seed } = file.content;
      return settings({ url, seed });
    }
    case 'missing':
      throw new CommandError(
        `There is no ${file.path}. No standalone has run with this data folder.\n${OPERATOR_WAYS}`,
      );
    case 'unusable':
      throw new CommandError(`${file.path} cannot be used: ${file.why}.\n${OPERATOR_WAYS}`);
  }
};

interface Identity {
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly seed?: string | undefined;
}

const settings = ({ url, user, password, seed }: Identity): BrokerSettings => ({
  url,
  name: 'runledger-cli',
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { password }),
  ...(seed === undefined ? {} : { seed }),
});
