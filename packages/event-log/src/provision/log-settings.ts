const MiB = 1024 ** 2;
const GiB = 1024 ** 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The limits of the log. Sizes are bytes on each broker, and nats-server refuses a stream whose limit does not fit
 * its disk (`max_file_store`, by default three quarters of what is free).
 */
export interface LogSettings {
  /**
   * Copies of every stream: 1, or 3 in a cluster. To go from 1 to more, delete the streams ACTIVITY, DELIVERY_ATTEMPTS, KV_EXECUTORS
   * and KV_RATES first: how they are kept differs, is fixed when they are made, and nothing in them lasts.
   */
  readonly replicas: number;
  /** At 80 % of it no new runs are taken, so that the facts of accepted ones always fit. */
  readonly runsMaxBytes: number;
  /** Milliseconds. Always longer than the longest allowed run, its start deadline and its attempts. */
  readonly runsMaxAgeMs: number;
  /** Consumers of RUNS: two for each service, one for each executor. Fixed when the stream is made. */
  readonly runsMaxConsumers: number;
  readonly activityMaxBytes: number;
  /** Milliseconds for which progress and log lines are kept. */
  readonly activityMaxAgeMs: number;
  /** Progress reports, and log lines, kept of each attempt. */
  readonly activityMaxPerAttempt: number;
  /** About 600 bytes for each delivery that waits or is deferred. Beyond it the oldest are dropped, and the notifier's reconciliation finds them again. */
  readonly timersMaxBytes: number;
  readonly deliveryAttemptsMaxBytes: number;
  /** Milliseconds for which the tries of notifications are kept. */
  readonly deliveryAttemptsMaxAgeMs: number;
  readonly fleetMaxBytes: number;
  /** Milliseconds. Longer than an executor runs: its registration is a fact in FLEET. */
  readonly fleetMaxAgeMs: number;
  readonly deadLettersMaxBytes: number;
  /** Milliseconds for which dead letters are kept: an operator should look at them before. */
  readonly deadLettersMaxAgeMs: number;
  readonly catalogueMaxBytes: number;
  readonly keysMaxBytes: number;
  readonly uploadsMaxBytes: number;
  /** Milliseconds after which what a run reserved for its uploads is forgotten; longer than any run. */
  readonly uploadsMaxAgeMs: number;
  /** One encrypted record for each organisation. */
  readonly webhookSecretsMaxBytes: number;
  /** Of all output files together. */
  readonly outputsMaxBytes: number;
  /** Milliseconds for which output files are kept. */
  readonly outputsMaxAgeMs: number;
  readonly snapshotsMaxBytes: number;
}

export const DEFAULT_LOG_SETTINGS: LogSettings = {
  replicas: 1,
  runsMaxBytes: 2 * GiB,
  runsMaxAgeMs: 7 * DAY_MS,
  runsMaxConsumers: 20_000,
  activityMaxBytes: 256 * MiB,
  activityMaxAgeMs: DAY_MS,
  activityMaxPerAttempt: 1_000,
  timersMaxBytes: 512 * MiB,
  deliveryAttemptsMaxBytes: 256 * MiB,
  deliveryAttemptsMaxAgeMs: 7 * DAY_MS,
  fleetMaxBytes: 64 * MiB,
  fleetMaxAgeMs: 365 * DAY_MS,
  deadLettersMaxBytes: 256 * MiB,
  deadLettersMaxAgeMs: 30 * DAY_MS,
  catalogueMaxBytes: 512 * MiB,
  keysMaxBytes: 64 * MiB,
  uploadsMaxBytes: 64 * MiB,
  uploadsMaxAgeMs: 7 * DAY_MS,
  webhookSecretsMaxBytes: 64 * MiB,
  outputsMaxBytes: 4 * GiB,
  outputsMaxAgeMs: 90 * DAY_MS,
  snapshotsMaxBytes: 256 * MiB,
};

/**
 * Reads settings from JSON, such as `{"runsMaxBytes": 8589934592, "replicas": 3}`; what is not named keeps its default.
 * @throws RangeError with what to change
 */
export const parseLogSettings = (json: string): Partial<LogSettings> => {
  const known = Object.keys(DEFAULT_LOG_SETTINGS);
  const given = parseObject(json);
  const unknown = Object.keys(given ?? {}).filter((name) => !known.includes(name));
  if (given === undefined || unknown.length > 0) {
    const wrong =
      given === undefined ? 'They are no JSON object' : `There is no setting ${unknown.join(', ')}`;
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
        `The log setting ${name} is ${String(value)}: a whole number of at least 1 is needed.`,
      );
    }
  }
  if (settings.runsMaxAgeMs < HOUR_MS) {
    throw new RangeError(
      `The log setting runsMaxAgeMs is ${settings.runsMaxAgeMs}: less than an hour would lose the beginnings of runs.`,
    );
  }
  return settings;
};
