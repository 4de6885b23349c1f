import { secret, url } from '@runledger/service-kit/config-schemas';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { Type, type Static } from 'typebox';

const connectionSettings = {
  RUNLEDGER_URL: Type.Optional(url({ description: 'the API, such as http://127.0.0.1:8080/api' })),
  RUNLEDGER_API_KEY: Type.Optional(Type.String({ description: 'the API key for RUNLEDGER_URL' })),
  RUNLEDGER_CONTEXT: Type.Optional(
    Type.String({ description: 'the stored connection to use, as runledger context list shows it' }),
  ),
  RUNLEDGER_DATA_DIR: Type.Optional(Type.String({ description: 'the data folder of a standalone' })),
  RUNLEDGER_LOG_SETTINGS: Type.Optional(Type.String({ description: 'the limits of the log as JSON' })),
  RUNLEDGER_NATS_URL: Type.Optional(
    Type.String({ description: 'the broker, for the commands of the operator' }),
  ),
  NATS_URL: Type.Optional(Type.String({ description: 'the same, when RUNLEDGER_NATS_URL is not set' })),
};

const operatorCredentials = {
  RUNLEDGER_NATS_USER: Type.Optional(Type.String({ description: 'the operator at RUNLEDGER_NATS_URL' })),
  RUNLEDGER_NATS_PASSWORD: Type.Optional(secret({ description: 'the password of RUNLEDGER_NATS_USER' })),
  RUNLEDGER_NATS_NKEY: Type.Optional(secret({ description: 'the seed of the operator' })),
};

const sharedCredentials = {
  NATS_USER: Type.Optional(Type.String({ description: 'the operator at NATS_URL' })),
  NATS_PASSWORD: Type.Optional(secret({ description: 'the password of NATS_USER' })),
  NATS_NKEY: Type.Optional(secret({ description: 'the seed of the operator' })),
};

/** All settings, for the documentation. */
export const settingsSchema = Type.Object({
  ...connectionSettings,
  ...operatorCredentials,
  ...sharedCredentials,
});

const connectionSchema = Type.Object(connectionSettings);
export type CliSettings = Static<typeof connectionSchema>;

/** An empty variable counts as not set. */
export const readCliSettings = (env: Environment): CliSettings => readConfig(connectionSchema, env);

export interface BrokerCredentials {
  readonly url: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly seed: string | undefined;
}

/** Undefined when the environment names no broker. @throws ConfigError */
export const readBrokerCredentials = (env: Environment): BrokerCredentials | undefined => {
  const { RUNLEDGER_NATS_URL, NATS_URL } = readCliSettings(env);
  if (RUNLEDGER_NATS_URL !== undefined) {
    const read = readConfig(Type.Object(operatorCredentials), env);
    return {
      url: RUNLEDGER_NATS_URL,
      user: read.RUNLEDGER_NATS_USER,
      password: read.RUNLEDGER_NATS_PASSWORD,
      seed: read.RUNLEDGER_NATS_NKEY,
    };
  }
  if (NATS_URL === undefined) return undefined;
  const read = readConfig(Type.Object(sharedCredentials), env);
  return { url: NATS_URL, user: read.NATS_USER, password: read.NATS_PASSWORD, seed: read.NATS_NKEY };
};
