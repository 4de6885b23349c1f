import { configSchema, type SchedulerConfig } from '@runledger/scheduler/config';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { Type } from 'typebox';

const DECISIVE = [
  'RUNLEDGER_HEARTBEAT_PERIOD_S',
  'RUNLEDGER_CANCEL_ENFORCE_S',
  'RUNLEDGER_ORG_WEIGHTS',
  'RUNLEDGER_ORG_LIMITS',
] as const;

/** What the scheduler's environment says about its decisions. */
export type SchedulerSettings = Pick<SchedulerConfig, (typeof DECISIVE)[number]>;

/** From the same variables as the scheduler's. @throws {ConfigError} */
export const readSchedulerSettings = (env: Environment): SchedulerSettings =>
  readConfig(Type.Pick(configSchema, DECISIVE), env);
