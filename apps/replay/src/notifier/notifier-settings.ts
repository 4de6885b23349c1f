import { configSchema, type NotifierConfig } from '@runledger/notifier/config';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { Type } from 'typebox';

const DECISIVE = [
  'RUNLEDGER_WEBHOOK_GIVE_UP_S',
  'RUNLEDGER_WEBHOOK_IN_FLIGHT',
  'RUNLEDGER_WEBHOOK_TRY_S',
] as const;

/** What the notifier's environment says about its decisions. */
export type NotifierSettings = Pick<NotifierConfig, (typeof DECISIVE)[number]>;

/** From the same variables as the notifier's. @throws {ConfigError} */
export const readNotifierSettings = (env: Environment): NotifierSettings =>
  readConfig(Type.Pick(configSchema, DECISIVE), env);
