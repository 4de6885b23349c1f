import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { BrokerSettings } from '@runledger/event-log/connect/event-log';
import { readOperatorFile } from '@runledger/standalone/connection-files';
import { findDataFolder } from '../api-client/connection.ts';
import type { Environment } from '../api-client/connection.ts';
import { CommandError } from '../output/command-error.ts';

export const OPERATOR_WAYS =
  'This command uses the log directly, with the credentials of the operator of the broker.\n' +
  'Run it in the folder of a standalone or below (its data folder has operator.json), or with RUNLEDGER_DATA_DIR;\n' +
  'or set RUNLEDGER_NATS_URL, and RUNLEDGER_NATS_NKEY_FILE or RUNLEDGER_NATS_USER and RUNLEDGER_NATS_PASSWORD.';

/** The broker and the operator's credentials, from the environment or the nearest standalone. @throws CommandError */
export const findBroker = async (env: Environment, cwd: string): Promise<BrokerSettings> => {
  for (const prefix of ['RUNLEDGER_NATS', 'NATS']) {
    const url = env[`${prefix}_URL`] ?? '';
    if (url === '') continue;
    const password = await secretIn(env, cwd, `${prefix}_PASSWORD`);
    const seed = await secretIn(env, cwd, `${prefix}_NKEY`);
    return settings({ url, user: env[`${prefix}_USER`], password, seed });
  }
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
        `There is no ${file.path}. No standalone was started there yet.\n${OPERATOR_WAYS}`,
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
  ...(user === undefined || user === '' ? {} : { user }),
  ...(password === undefined || password === '' ? {} : { password }),
  ...(seed === undefined || seed === '' ? {} : { seed }),
});

/** The value of the variable, or the content of the file that `_FILE` names. */
const secretIn = async (env: Environment, cwd: string, name: string): Promise<string | undefined> => {
  const file = env[`${name}_FILE`] ?? '';
  if (file === '') return env[name];
  if ((env[name] ?? '') !== '')
    throw new CommandError(`${name} and ${name}_FILE are both set. Set one of them.`);
  try {
    return (await readFile(resolve(cwd, file), 'utf8')).trim();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${name}_FILE cannot be read: ${why}. Name the file with the secret.`);
  }
};
