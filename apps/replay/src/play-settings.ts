import type { Environment } from '@runledger/service-kit/config';
import { readNotifierSettings, type NotifierSettings } from './notifier/notifier-settings.ts';
import { readSchedulerSettings, type SchedulerSettings } from './scheduler/scheduler-settings.ts';

/** What the environments of the services say about their decisions. */
export type PlaySettings = SchedulerSettings & NotifierSettings;

/** From the same variables as those of the services. @throws {ConfigError} */
export const readPlaySettings = (env: Environment): PlaySettings => ({
  ...readSchedulerSettings(env),
  ...readNotifierSettings(env),
});
