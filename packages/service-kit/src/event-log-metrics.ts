import { Counter, Gauge, Histogram, type Metrics } from './metrics.ts';

/** Metrics of the event log, under the same names in every service. */
export interface EventLogMetrics {
  connected(now: boolean): void;
  appended(how: 'appended' | 'conflict' | 'failed', seconds: number): void;
  resent(): void;
  deadLettered(consumer: string, executor?: string): void;
  notAllowed(): void;
  /** The copies of a stream at present; undefined: its leader does not respond. */
  copies(stream: string, now: StreamCopies | undefined): void;
}

/** The copies of a stream, as its leader sees them. */
export interface StreamCopies {
  readonly wanted: number;
  readonly current: number;
  readonly away: readonly string[];
  readonly lag: number;
  readonly hasQuorum: boolean;
  readonly isClustered: boolean;
}

const APPEND_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const eventLogMetrics = (metrics: Metrics): EventLogMetrics => {
  const registers = [metrics];
  const connected = new Gauge({
    name: 'runledger_log_connected',
    help: '1 while this process is connected to the broker, else 0.',
    registers,
  });
  const seconds = new Histogram({
    name: 'runledger_log_append_seconds',
    help: 'Time from an append until the answer of the broker.',
    buckets: APPEND_SECONDS,
    registers,
  });
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const conflicts = counter(
    'runledger_log_append_conflicts_total',
    'Facts that were not appended, because another fact came first. A few are normal.',
  );
  const failures = counter(
    'runledger_log_append_failures_total',
    'Facts that may not be stored: the broker was unavailable, full or too slow.',
  );
  const retries = counter(
    'runledger_log_publish_retries_total',
    'Messages that were sent again, because the broker did not answer in time.',
  );
  const deadLetters = counter(
    'runledger_log_dead_letters_total',
    'Messages that this process could not handle and stored in DEAD_LETTERS.',
  );
  // An executor writes under its own name only, so there are no more of them than keys.
  const ofExecutors = new Counter({
    name: 'runledger_log_dead_letters_of_executors_total',
    help: 'Those of them that came from messages of an executor, by its name, also beyond those that are stored.',
    labelNames: ['executor'],
    registers,
  });
  // So that there is one before the first message.
  ofExecutors.inc({ executor: '' }, 0);
  const violations = counter(
    'runledger_log_permission_violations_total',
    'Operations that the broker refused for lack of permission. Any value above 0 is a defect or an intruder.',
  );
  return {
    connected: (now) => connected.set(now ? 1 : 0),
    appended: (how, took) => {
      if (how === 'failed') return failures.inc();
      if (how === 'conflict') conflicts.inc();
      seconds.observe(took);
    },
    resent: () => retries.inc(),
    deadLettered: (_consumer, executor) => {
      deadLetters.inc();
      if (executor !== undefined) ofExecutors.inc({ executor });
    },
    notAllowed: () => violations.inc(),
    copies: copiesMetrics(metrics),
  };
};

/** By stream: there are less than twenty. Without a value while the leader of the stream does not respond, but for the quorum. */
const copiesMetrics = (metrics: Metrics): EventLogMetrics['copies'] => {
  const gauge = (name: string, help: string): Gauge<'stream'> =>
    new Gauge({ name: `runledger_log_${name}`, help, labelNames: ['stream'], registers: [metrics] });
  const wanted = gauge('replicas_wanted', 'Copies that the stream is configured to have.');
  const current = gauge(
    'replicas_current',
    'Copies of the stream that have everything, with that of its leader.',
  );
  const away = gauge('replicas_away', 'Brokers with a copy of the stream that its leader does not reach.');
  const lag = gauge(
    'replica_lag_messages',
    'Messages that the copy of the stream which is furthest behind lacks.',
  );
  const clustered = gauge('clustered', '1 when the broker of the stream is one of several, else 0.');
  const quorum = gauge(
    'quorum',
    '1 while the leader of the stream responds and reaches a majority of its copies, else 0.',
  );
  return (stream, now) => {
    quorum.set({ stream }, Number(now?.hasQuorum ?? false));
    if (now === undefined) {
      for (const each of [wanted, current, away, lag, clustered]) each.remove({ stream });
      return;
    }
    wanted.set({ stream }, now.wanted);
    current.set({ stream }, now.current);
    away.set({ stream }, now.away.length);
    lag.set({ stream }, now.lag);
    clustered.set({ stream }, Number(now.isClustered));
  };
};
