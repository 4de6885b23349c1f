import { brokerConfig } from '@runledger/event-log/connect/broker-config';
import { readConfig, type Environment } from '@runledger/service-kit/config/config';
import { seconds } from '@runledger/service-kit/config/config-schemas';
import { serviceConfig } from '@runledger/service-kit/lifecycle/service-config';
import { Type, type Static } from 'typebox';

export const configSchema = Type.Object({
  ...brokerConfig,
  RUNLEDGER_HEARTBEAT_PERIOD_S: seconds({
    default: 6,
    minimum: 0.3,
    maximum: 3_600,
    description: 'an executor without a heartbeat for this time is lost; the same value as for the executors',
  }),
  RUNLEDGER_CANCEL_ENFORCE_S: seconds({
    default: 20,
    maximum: 86_400,
    description:
      'time from a cancel request until the run counts as cancelled even if its executor does not end it; more than EXECUTOR_CANCEL_GRACE_S',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_S: seconds({
    default: 60,
    minimum: 0.1,
    maximum: 86_400,
    description: 'interval at which the state is saved, so that a start need not read the whole log',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_EVENTS: Type.Integer({
    default: 20_000,
    minimum: 1,
    description: 'the state is also saved after this number of events',
  }),
  ...serviceConfig({ healthPort: 9102 }),
});

export type SchedulerConfig = Static<typeof configSchema>;

export const readSchedulerConfig = (env: Environment): SchedulerConfig => readConfig(configSchema, env);
