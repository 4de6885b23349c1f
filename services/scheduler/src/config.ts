import { brokerConfig } from '@runledger/event-log/broker-config';
import { readConfig, type Environment } from '@runledger/service-kit/config';
import { oneOf, port, seconds } from '@runledger/service-kit/config-schemas';
import { logLevels } from '@runledger/service-kit/logger';
import { Type, type Static } from 'typebox';

const configSchema = Type.Object({
  ...brokerConfig,
  RUNLEDGER_HEARTBEAT_PERIOD_S: seconds({
    default: 6,
    minimum: 0.3,
    maximum: 3_600,
    description: 'an executor without a beat for so long is lost; the same for executors',
  }),
  RUNLEDGER_CANCEL_ENFORCE_S: seconds({
    default: 20,
    maximum: 86_400,
    description:
      'from a cancel request until the run counts as cancelled whatever its executor does; more than EXECUTOR_CANCEL_GRACE_S',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_S: seconds({
    default: 60,
    minimum: 0.1,
    maximum: 86_400,
    description: 'how often the state is saved, so that a start need not read the whole log',
  }),
  RUNLEDGER_SNAPSHOT_EVERY_EVENTS: Type.Integer({
    default: 20_000,
    minimum: 1,
    description: 'the state is saved after so many events as well',
  }),
  RUNLEDGER_WORKFLOW_CACHE_BYTES: Type.Integer({
    default: 64 * 1024 ** 2,
    minimum: 0,
    description: 'how many bytes of workflow versions are kept in memory',
  }),
  RUNLEDGER_HEALTH_HOST: Type.String({
    default: '127.0.0.1',
    description: 'where the health server listens',
  }),
  RUNLEDGER_HEALTH_PORT: port({ default: 9102, description: 'of the health server' }),
  RUNLEDGER_LOG_LEVEL: oneOf([...logLevels], { default: 'info', description: 'the least level logged' }),
  RUNLEDGER_STOP_WITHIN_S: seconds({ default: 10, minimum: 1, description: 'how long a stop may take' }),
});

export type SchedulerConfig = Static<typeof configSchema>;

const DEFAULT_STOP_WITHIN_MS = 10_000;

export interface ReadSchedulerConfig {
  /** Known also when the rest is wrong: a service that cannot start has to stop. */
  readonly stopWithinMs: number;
  /** @throws {ConfigError} with everything that is wrong */
  readonly orThrow: () => SchedulerConfig;
}

export const readSchedulerConfig = (env: Environment): ReadSchedulerConfig => {
  try {
    const config = readConfig(configSchema, env);
    return { stopWithinMs: config.RUNLEDGER_STOP_WITHIN_S * 1_000, orThrow: () => config };
  } catch (error) {
    return {
      stopWithinMs: DEFAULT_STOP_WITHIN_MS,
      orThrow: () => {
        throw error;
      },
    };
  }
};
