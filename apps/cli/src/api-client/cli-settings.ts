import { readConfig, type Environment } from '@runledger/service-kit/config/config';
import { Type, type Static } from 'typebox';

const settingsSchema = Type.Object({
  RUNLEDGER_URL: Type.Optional(Type.String({ description: 'the API, such as http://127.0.0.1:8080/api' })),
  RUNLEDGER_API_KEY: Type.Optional(Type.String({ description: 'the API key for RUNLEDGER_URL' })),
  RUNLEDGER_DATA_DIR: Type.Optional(Type.String({ description: 'the data folder of a standalone' })),
  RUNLEDGER_LOG_SETTINGS: Type.Optional(Type.String({ description: 'the limits of the log as JSON' })),
});
export type CliSettings = Static<typeof settingsSchema>;

/** An empty variable counts as not set. */
export const readCliSettings = (env: Environment): CliSettings => readConfig(settingsSchema, env);
