import type { Type } from 'typebox';
import { ConfigError, joinProblems, type ConfigProblem, type Environment } from './config.ts';
import { misspeltSentence, misspeltSettings } from './misspelt-settings.ts';
import { HEALTH_TOKEN_SETTING } from './health-token.ts';
import { openHealthServer, type Check, type Readiness } from './health-server.ts';
import { announce, runService } from './run-service.ts';
import { eventLogMetrics, type EventLogMetrics } from './event-log-metrics.ts';
import { createLogger, standardOutput, type Logger, type LogLevel } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type TracingSettings, tracesUrl, type TracedService } from './tracing-config.ts';

/** The values of `serviceConfig`. */
interface ServiceSettings extends TracingSettings {
  readonly RUNLEDGER_HEALTH_HOST: string;
  readonly RUNLEDGER_HEALTH_PORT: number;
  readonly RUNLEDGER_HEALTH_TOKEN?: string;
  readonly RUNLEDGER_LOG_LEVEL: LogLevel;
  readonly RUNLEDGER_STOP_WITHIN_S: number;
}

/** The parts that every service has from its start. */
export interface ServiceBase<Config> {
  readonly config: Config;
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Counts events of the log, once it is open. */
  readonly observer: EventLogMetrics;
  /** The health server's address, for example `http://127.0.0.1:9101`. */
  readonly health: string;
  /** The conditions of readiness. `start` adds a check for each resource that it opens. */
  readonly checks: Record<string, Check>;
  /** What `/readyz` says, with its reasons. */
  readonly readiness: () => Promise<Readiness>;
  readonly startedAt: Date;
}

interface ConfiguredService<Config extends ServiceSettings> {
  readonly name: string;
  /** Names the settings that `readConfig` reads. */
  readonly configSchema: Type.TObject;
  /** @throws ConfigError with all problems */
  readonly readConfig: (env: Environment) => Config;
  /** What else is wrong with an environment that `readConfig` refuses, so that all is told at once. */
  readonly alsoWrong?: (env: Environment) => Promise<readonly ConfigProblem[]>;
  /** Identifies this process among those of the service. */
  readonly instance: (config: Config) => string;
  /**
   * Opens all resources into `open`, as in `runService`. Its result is announced to the parent process, with the address of the
   * health server. The service is ready when it resolves.
   */
  readonly start: (
    begun: ServiceBase<Config>,
    open: AsyncDisposableStack,
    stopping: AbortSignal,
  ) => Promise<object>;
}

const DEFAULT_STOP_WITHIN_S = 10;
/** The fraction of the stop's time for the last traces, which must not make the stop take too long. */
const FLUSH_FRACTION = 0.1;
const MAX_FLUSH_MS = 1_000;

/** `runService` with the parts that all services have: configuration, logs, metrics, traces, health. Only `main.ts` calls it. */
export const runConfiguredService = <Config extends ServiceSettings>(
  { name, configSchema, readConfig, alsoWrong, instance: instanceOf, start }: ConfiguredService<Config>,
  env: Environment,
): Promise<never> => {
  const read = attempt(() => readConfig(env));
  const stopWithinS = 'value' in read ? read.value.RUNLEDGER_STOP_WITHIN_S : DEFAULT_STOP_WITHIN_S;
  return runService({
    name,
    stopWithinMs: stopWithinS * 1_000,
    start: async (open, stopping) => {
      const startedAt = new Date();
      if (!('value' in read)) throw await completed(read.error, () => alsoWrong?.(env));
      const config = read.value;
      const instance = instanceOf(config);
      const { RUNLEDGER_LOG_LEVEL: level } = config;
      const logger = createLogger({ service: name, level, instance, destination: standardOutput() });
      for (const misspelt of misspeltSettings(Object.keys(configSchema.properties), env))
        logger.warn(misspelt, misspeltSentence(misspelt));
      const flushWithinMs = Math.min(config.RUNLEDGER_STOP_WITHIN_S * 1_000 * FLUSH_FRACTION, MAX_FLUSH_MS);
      open.use(await openTracing(config, { service: name, instance, logger, flushWithinMs }));
      const metrics = createMetrics(name);
      const checks: Record<string, Check> = { start: () => ({ ok: false, why: 'still starting' }) };
      const {
        RUNLEDGER_HEALTH_HOST: host,
        RUNLEDGER_HEALTH_PORT: port,
        RUNLEDGER_HEALTH_TOKEN: token,
      } = config;
      const health = open.use(
        await openHealthServer({ host, port, token, checks, metrics, logger, stopping }),
      );
      if (token === undefined)
        logger.info(`no metrics are shown, and no reasons at /readyz: ${HEALTH_TOKEN_SETTING} is not set`);
      const observer = eventLogMetrics(metrics);
      const begun = {
        config,
        instance,
        logger,
        metrics,
        observer,
        health: health.url,
        checks,
        readiness: health.readiness,
        startedAt,
      };
      const announced = await start(begun, open, stopping);
      delete checks['start'];
      announce({ ...announced, health: health.url });
    },
  });
};

const completed = async (
  error: unknown,
  alsoWrong: () => Promise<readonly ConfigProblem[]> | undefined,
): Promise<unknown> => {
  if (!(error instanceof ConfigError)) return error;
  return new ConfigError(joinProblems(error.problems, (await alsoWrong()) ?? []));
};

const attempt = <Value>(work: () => Value): { readonly value: Value } | { readonly error: unknown } => {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
};

/**
 * Starts tracing, if the settings name a collector. Otherwise the SDK is not loaded, and spans cost almost nothing. A process
 * calls it once.
 */
export const openTracing = async (
  settings: TracingSettings,
  traced: TracedService,
): Promise<AsyncDisposable | undefined> => {
  const url = tracesUrl(settings);
  if (url === undefined) return undefined;
  const { sendTraces } = await import('./send-traces.ts');
  return sendTraces(url, settings, traced);
};
