import { lifetimeProblems, type Lifetime, type Lifetimes } from '@runledger/contracts/lifetimes';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The limits of the log. Sizes are bytes on each broker. nats-server refuses a stream whose limit exceeds its storage
 * (`max_file_store`, by default three quarters of the free disk space).
 */
export interface LogSettings {
  /**
   * Copies of every stream: 1, or 3 in a cluster. Left out: as many as each stream has, and 1 in a new log. To go from 1 to more,
   * delete the streams ACTIVITY, LOGS, DELIVERY_ATTEMPTS, KV_EXECUTORS and KV_RATES first: their storage differs, is fixed when they are
   * created, and their data is short-lived.
   */
  readonly replicas?: number;
  /** Runs are accepted while their facts, and all that accepted runs may still write, fit into three quarters of it. See "How many runs fit" in docs/operations/limits.md. */
  readonly runsMaxBytes: number;
  /** Milliseconds. It must exceed the longest allowed run with its start deadline and its attempts. */
  readonly runsMaxAgeMs: number;
  /** Consumers of RUNS: two for each service, one for each executor. Fixed when the stream is created. */
  readonly runsMaxConsumers: number;
  readonly activityMaxBytes: number;
  /** Milliseconds for which progress is kept. */
  readonly activityMaxAgeMs: number;
  /** The number of progress reports kept for each attempt. */
  readonly activityMaxPerAttempt: number;
  /** Of the logs of attempts that are executing, and of those whose log could not be kept with the run. At most 1 MiB of text each. */
  readonly logsMaxBytes: number;
  /** Milliseconds for which these logs are kept. */
  readonly logsMaxAgeMs: number;
  /** About 600 bytes for each waiting or deferred delivery. What does not fit is sent from RUNS, so its age limits how long it can wait. */
  readonly timersMaxBytes: number;
  readonly deliveryAttemptsMaxBytes: number;
  /** Milliseconds for which delivery attempts are kept. */
  readonly deliveryAttemptsMaxAgeMs: number;
  readonly fleetMaxBytes: number;
  /** Milliseconds. It must exceed the uptime of an executor: its registration is a fact in FLEET. */
  readonly fleetMaxAgeMs: number;
  readonly deadLettersMaxBytes: number;
  /** Milliseconds for which dead letters are kept. An operator should handle them within this time. */
  readonly deadLettersMaxAgeMs: number;
  /** Of audit records of what was done, some 700 bytes each. An organisation may use a sixteenth of it, and then its oldest records leave. */
  readonly auditMaxBytes: number;
  /** Of audit records of who may do what. An organisation may use a 128th of it. */
  readonly auditRightsMaxBytes: number;
  /** Milliseconds for which audit records are kept. */
  readonly auditMaxAgeMs: number;
  readonly catalogueMaxBytes: number;
  /** Of all workflow versions together. They never expire. */
  readonly workflowsMaxBytes: number;
  /** Of inputs and lists of outputs over 4 KiB. */
  readonly blobsMaxBytes: number;
  /**
   * Milliseconds for which inputs and lists of outputs are kept. A blob is stored again after half of this time, so half of it
   * must exceed the age of the log: a run in the log has its inputs.
   */
  readonly blobsMaxAgeMs: number;
  /** Of the records of files that clients uploaded, some 500 bytes each. The files themselves are with the output files. */
  readonly filesMaxBytes: number;
  readonly keysMaxBytes: number;
  /** Of people who sign in, some 2 KiB each, their sessions, and the members and invitations of organisations. */
  readonly accountsMaxBytes: number;
  /** Of schedules, with the inputs of their runs and their last outcomes: some 6 KiB each, 40 KiB at most. */
  readonly schedulesMaxBytes: number;
  /** One encrypted record for each organisation. */
  readonly webhookSecretsMaxBytes: number;
  /** For all output files and all files that clients uploaded, together. */
  readonly outputsMaxBytes: number;
  /** Milliseconds for which output files are kept. */
  readonly outputsMaxAgeMs: number;
  /** Of the models of versions that clients sent, which stay as long as a version names them. */
  readonly modelsMaxBytes: number;
  /** Of archived runs, about a kilobyte each. */
  readonly archiveMaxBytes: number;
  /** How far the log is archived, and one record for each organisation that is behind. */
  readonly archiveRecordsMaxBytes: number;
  readonly snapshotsMaxBytes: number;
}

export const DEFAULT_LOG_SETTINGS: LogSettings = {
  runsMaxBytes: 2 * GiB,
  runsMaxAgeMs: 7 * DAY_MS,
  runsMaxConsumers: 20_000,
  activityMaxBytes: 256 * MiB,
  activityMaxAgeMs: DAY_MS,
  activityMaxPerAttempt: 1_000,
  logsMaxBytes: 512 * MiB,
  logsMaxAgeMs: 90 * DAY_MS,
  timersMaxBytes: 512 * MiB,
  deliveryAttemptsMaxBytes: 256 * MiB,
  deliveryAttemptsMaxAgeMs: 7 * DAY_MS,
  fleetMaxBytes: 64 * MiB,
  fleetMaxAgeMs: 365 * DAY_MS,
  deadLettersMaxBytes: 256 * MiB,
  deadLettersMaxAgeMs: 30 * DAY_MS,
  auditMaxBytes: 256 * MiB,
  auditRightsMaxBytes: GiB,
  auditMaxAgeMs: 365 * DAY_MS,
  catalogueMaxBytes: 512 * MiB,
  workflowsMaxBytes: 512 * MiB,
  blobsMaxBytes: 2 * GiB,
  blobsMaxAgeMs: 90 * DAY_MS,
  filesMaxBytes: 64 * MiB,
  keysMaxBytes: 64 * MiB,
  accountsMaxBytes: 64 * MiB,
  schedulesMaxBytes: 256 * MiB,
  webhookSecretsMaxBytes: 64 * MiB,
  outputsMaxBytes: 4 * GiB,
  outputsMaxAgeMs: 90 * DAY_MS,
  modelsMaxBytes: 4 * GiB,
  archiveMaxBytes: 4 * GiB,
  archiveRecordsMaxBytes: 64 * MiB,
  snapshotsMaxBytes: 256 * MiB,
};

/**
 * Reads settings from JSON, such as `{"runsMaxBytes": 8589934592, "replicas": 3}`. Settings that are left out keep their default.
 * @throws RangeError with what to change
 */
export const parseLogSettings = (json: string): Partial<LogSettings> => {
  const known = ['replicas', ...Object.keys(DEFAULT_LOG_SETTINGS)];
  const given = parseObject(json);
  const unknown = Object.keys(given ?? {}).filter((name) => !known.includes(name));
  if (given === undefined || unknown.length > 0) {
    const wrong =
      given === undefined ? 'They are not a JSON object' : `Unknown settings: ${unknown.join(', ')}`;
    throw new RangeError(
      `The settings of the log cannot be read. ${wrong}; the settings are: ${known.join(', ')}.`,
    );
  }
  return logSettings(given);
};

const parseObject = (json: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** @throws RangeError with what to change */
export const logSettings = (given: Partial<LogSettings>): LogSettings => {
  const settings = { ...DEFAULT_LOG_SETTINGS, ...given };
  for (const [name, value] of Object.entries(settings)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(
        `The log setting ${name} is ${String(value)}: it must be a whole number of at least 1.`,
      );
    }
  }
  if (settings.runsMaxAgeMs < HOUR_MS) {
    throw new RangeError(
      `The log setting runsMaxAgeMs is ${settings.runsMaxAgeMs}: with less than an hour, first events of runs would expire.`,
    );
  }
  const problems = lifetimeProblems({
    log: settings.runsMaxAgeMs,
    deliveryAttempts: settings.deliveryAttemptsMaxAgeMs,
    outputs: settings.outputsMaxAgeMs,
    blobs: settings.blobsMaxAgeMs,
    fleet: settings.fleetMaxAgeMs,
    deadLetters: settings.deadLettersMaxAgeMs,
  });
  if (problems.length > 0)
    throw new RangeError(`The log settings do not fit together. ${problems.join('. ')}.`);
  return settings;
};

/** The streams whose age is one of the lifetimes. */
const STREAM_AGES: Readonly<Record<string, Lifetime>> = {
  RUNS: 'log',
  DELIVERY_ATTEMPTS: 'deliveryAttempts',
  FLEET: 'fleet',
  DEAD_LETTERS: 'deadLetters',
  OBJ_OUTPUTS: 'outputs',
  BLOBS: 'blobs',
};

const NANOS_PER_MS = 1_000_000;

/**
 * At the start of a service: compares its own settings with the streams as they are. What does not fit is logged as an error,
 * and the service starts: most runs are shorter, and a refusal would stop those too. Returns the problems.
 * @throws {LogUnavailable}
 */
export const checkLifetimes = async (
  log: EventLog,
  own: Partial<Lifetimes>,
  streams: readonly string[],
): Promise<readonly string[]> => {
  const ages: Partial<Record<Lifetime, number>> = {};
  for (const stream of streams) {
    const lifetime = STREAM_AGES[stream];
    if (lifetime === undefined) continue;
    const { config } = await callBroker(`reading the age of stream ${stream}`, () =>
      log.jsm.streams.info(stream),
    );
    ages[lifetime] = config.max_age > 0 ? config.max_age / NANOS_PER_MS : Infinity;
  }
  const problems = lifetimeProblems({ ...ages, ...own });
  for (const problem of problems) log.logger.error({ problem }, 'two lifetimes do not fit');
  return problems;
};
