/** How long each thing is kept, or may take, in milliseconds. What has no lifetime (TIMERS, the catalogue) is not here. */
export interface Lifetimes {
  /** Facts in RUNS. */
  readonly log: number;
  /** From RunQueued until a run may start. */
  readonly delay: number;
  /** A run, from then on: start deadline and run timeout of all its attempts. */
  readonly run: number;
  /** Delivering the final notification of a run, from its end on. */
  readonly webhookGiveUp: number;
  readonly deliveryAttempts: number;
  readonly views: number;
  readonly outputs: number;
  /** What an organisation chose for its runs, and for their output files. */
  readonly ownRuns: number;
  readonly ownOutputs: number;
  /** A file that a client uploaded, from its last use on. */
  readonly files: number;
  readonly blobs: number;
  /** Registrations of executors. */
  readonly fleet: number;
  readonly deadLetters: number;
}

export type Lifetime = keyof Lifetimes;

/** What sets each, in messages and in docs/operations/limits.md. */
export const LIFETIME_SETTINGS: Readonly<Record<Lifetime, string>> = {
  log: 'runsMaxAgeMs',
  delay: 'delay_s or start_at of a request',
  run: '(start_deadline_s + run_timeout_s) × attempts of a deployment',
  webhookGiveUp: 'RUNLEDGER_WEBHOOK_GIVE_UP_S',
  deliveryAttempts: 'deliveryAttemptsMaxAgeMs',
  views: 'RUNLEDGER_RUN_RETENTION_DAYS',
  outputs: 'outputsMaxAgeMs, or RUNLEDGER_OUTPUTS_KEEP_DAYS',
  ownRuns: 'runs_days of an organisation',
  ownOutputs: 'outputs_days of an organisation',
  files: 'RUNLEDGER_FILE_KEEP_DAYS',
  blobs: 'blobsMaxAgeMs',
  fleet: 'fleetMaxAgeMs',
  deadLetters: 'deadLettersMaxAgeMs',
};

interface LifetimeRule {
  readonly longer: Lifetime;
  /** Together they may be as long as `longer`. */
  readonly than: readonly [Lifetime, ...Lifetime[]];
  /** What happens otherwise. */
  readonly otherwise: string;
}

/** Which lifetime must be at least as long as which. Of the log, the part counts in which a run may live. */
export const LIFETIME_RULES: readonly LifetimeRule[] = [
  {
    longer: 'log',
    than: ['delay', 'run', 'webhookGiveUp'],
    otherwise: 'a run is ended as log_expired, or its notification as failed, because their facts are gone',
  },
  { longer: 'views', than: ['log'], otherwise: 'runs are kept for as long as the log has them' },
  { longer: 'ownRuns', than: ['log'], otherwise: 'its runs are kept for as long as the log has them' },
  { longer: 'views', than: ['ownRuns'], otherwise: 'its runs are removed earlier' },
  { longer: 'ownRuns', than: ['ownOutputs'], otherwise: 'its files are erased earlier, with their runs' },
  { longer: 'outputs', than: ['ownOutputs'], otherwise: 'its files expire earlier' },
  { longer: 'outputs', than: ['log'], otherwise: 'files of a run are gone while the run goes on' },
  { longer: 'files', than: ['log'], otherwise: 'files that a run names expire before it ends' },
  { longer: 'outputs', than: ['files'], otherwise: 'files of clients expire earlier' },
  {
    longer: 'blobs',
    than: ['log', 'log'],
    otherwise: 'inputs expire before their run: a copy that is there already may be used again',
  },
  { longer: 'fleet', than: ['log'], otherwise: 'an executor is unknown to a scheduler that starts' },
  {
    longer: 'deadLetters',
    than: ['log'],
    otherwise: 'a message can no longer be redriven although the log has it',
  },
  {
    longer: 'deliveryAttempts',
    than: ['webhookGiveUp'],
    otherwise: 'a delivery that goes on lacks its first attempts',
  },
];

/**
 * How old a run may become, in milliseconds: less than the age of the log by an hour for each day. Then it is ended while its
 * history is still whole, and readers that are behind still find it.
 */
export const longestLifeMs = (logAgeMs: number): number => (logAgeMs * 23) / 24;

/** How long a run may be, with its delay, so that its notification can be delivered too, in milliseconds. Not positive when none can. */
export const longestRunMs = ({ log, webhookGiveUp }: Pick<Lifetimes, 'log' | 'webhookGiveUp'>): number =>
  longestLifeMs(log) - webhookGiveUp;

/** What is wrong with these lifetimes, one sentence for each rule that they break. Unknown ones break none. */
export const lifetimeProblems = (known: Partial<Lifetimes>): string[] =>
  LIFETIME_RULES.flatMap(({ longer, than, otherwise }) => {
    const kept = known[longer];
    const shorter = than.filter((name) => known[name] !== undefined);
    if (kept === undefined || shorter.length === 0) return [];
    const usable = longer === 'log' ? longestLifeMs(kept) : kept;
    const needed = shorter.reduce((sum, name) => sum + (known[name] ?? 0), 0);
    if (usable >= needed) return [];
    const settings = shorter.map((name) => LIFETIME_SETTINGS[name]).join(' + ');
    return [
      `${LIFETIME_SETTINGS[longer]} is too short: ${inHours(usable)} are less than ${inHours(needed)} (${settings}), ` +
        `so ${otherwise}. Raise the first, or lower the other`,
    ];
  });

const HOUR_MS = 3_600_000;
const inHours = (ms: number): string => `${Math.round((ms / HOUR_MS) * 100) / 100} h`;
