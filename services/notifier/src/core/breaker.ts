/** How many slices a window has. The oldest slice leaves it as a whole. */
export const WINDOW_SLICES = 10;

interface Slice {
  readonly number: number;
  readonly results: number;
  readonly failures: number;
}

/** Results of the last minutes, the oldest slice first. Slices without a result are left out. */
type ResultWindow = readonly Slice[];

const EMPTY_WINDOW: ResultWindow = [];

type WindowSettings = Pick<BreakerSettings, 'windowMs'>;

/** The window with one more result, and without the slices that have become too old. */
const countResult = (
  window: ResultWindow,
  outcome: 'success' | 'failure',
  at: number,
  settings: WindowSettings,
): ResultWindow => {
  const number = sliceAt(at, settings);
  const recent = window.filter((slice) => slice.number > number - WINDOW_SLICES);
  const last = recent.at(-1);
  const current = last?.number === number ? last : { number, results: 0, failures: 0 };
  const counted = {
    number,
    results: current.results + 1,
    failures: current.failures + (outcome === 'failure' ? 1 : 0),
  };
  return [...recent.slice(0, current === last ? -1 : undefined), counted];
};

/** Of a window to which a result was just added. */
const countResults = (window: ResultWindow): { readonly results: number; readonly failures: number } =>
  window.reduce(
    (sum, slice) => ({ results: sum.results + slice.results, failures: sum.failures + slice.failures }),
    { results: 0, failures: 0 },
  );

/** Failures that are still in the window. */
const countFailures = (window: ResultWindow, at: number, settings: WindowSettings): number => {
  const oldest = sliceAt(at, settings) - WINDOW_SLICES;
  return window.reduce((sum, slice) => sum + (slice.number > oldest ? slice.failures : 0), 0);
};

const sliceAt = (at: number, { windowMs }: WindowSettings): number =>
  Math.floor(at / (windowMs / WINDOW_SLICES));

/** With this limit the last probes are made. */
const LAST_PROBE_LIMIT = 8;

export interface OpenState {
  readonly kind: 'open';
  /** How often in a row, 1 or more. */
  readonly opens: number;
  /** Monotonic, in milliseconds: when the probe is due. */
  readonly until: number;
}

interface ProbingState {
  readonly kind: 'probing';
  /** How many requests may be in flight: 1, and twice as many whenever that many have succeeded. */
  readonly limit: number;
}

export type BreakerState = { readonly kind: 'closed' } | OpenState | ProbingState;

export const CLOSED: BreakerState = { kind: 'closed' };
export const PROBE: ProbingState = { kind: 'probing', limit: 1 };

/** A circuit breaker: what is known of one origin, or of one receiver. */
export interface Breaker {
  readonly state: BreakerState;
  /** When the state was entered. */
  readonly enteredAt: number;
  /** How often it opened in a row. It counts until a success after the recovery. */
  readonly opens: number;
  readonly failuresInARow: number;
  /** Monotonic: when an attempt failed last; -Infinity before the first. */
  readonly failedAt: number;
  /** Since the state was entered, while it is probed. */
  readonly successes: number;
  readonly window: ResultWindow;
}

export const NEW_BREAKER: Breaker = {
  state: CLOSED,
  enteredAt: -Infinity,
  opens: 0,
  failuresInARow: 0,
  failedAt: -Infinity,
  successes: 0,
  window: EMPTY_WINDOW,
};

export const enterState = (breaker: Breaker, state: BreakerState, at: number): Breaker => ({
  ...breaker,
  state,
  enteredAt: at,
  successes: 0,
});

/** The breaker after a failure. It opens on a failed probe, on too many failures in a row, and on too many of all results. */
export const afterFailure = (breaker: Breaker, at: number, settings: BreakerSettings): Breaker => {
  const window = countResult(breaker.window, 'failure', at, settings);
  const failed = { ...breaker, window, failuresInARow: breaker.failuresInARow + 1, failedAt: at };
  const trips =
    breaker.state.kind === 'probing' ||
    failed.failuresInARow >= settings.inARow ||
    isFailing(window, settings);
  if (!trips) return failed;
  const opens = breaker.opens + 1;
  const open: OpenState = { kind: 'open', opens, until: at + openingMs(settings, opens) };
  return enterState({ ...failed, opens, failuresInARow: 0 }, open, at);
};

/** The breaker after a success. While it is probed, a full round of successes lets more through. */
export const afterSuccess = (breaker: Breaker, at: number, settings: BreakerSettings): Breaker => {
  const { state } = breaker;
  const window = countResult(breaker.window, 'success', at, settings);
  const succeeded = { ...breaker, window, failuresInARow: 0, successes: breaker.successes + 1 };
  switch (state.kind) {
    case 'open':
      return breaker;
    case 'closed':
      return { ...succeeded, opens: 0 };
    case 'probing':
      return succeeded.successes < state.limit
        ? succeeded
        : enterState(succeeded, afterRound(state.limit), at);
  }
};

/** No failure is left in the window, and how often it opened has lost its meaning. */
export const isQuiet = (breaker: Breaker, at: number, settings: BreakerSettings): boolean =>
  countFailures(breaker.window, at, settings) === 0 &&
  (breaker.opens === 0 || breaker.enteredAt <= at - settings.windowMs);

const isFailing = (window: ResultWindow, { fewestResults, failingPercent }: BreakerSettings): boolean => {
  const { results, failures } = countResults(window);
  return results >= fewestResults && failures * 100 > failingPercent * results;
};

const afterRound = (limit: number): BreakerState =>
  limit < LAST_PROBE_LIMIT ? { kind: 'probing', limit: 2 * limit } : CLOSED;

export interface BreakerSettings {
  /** This many failures without a success between them open a breaker. */
  readonly inARow: number;
  /** More than this percentage of at least `fewestResults` in `windowMs` open it too. */
  readonly failingPercent: number;
  readonly fewestResults: number;
  readonly windowMs: number;
  /** The first opening. Each one that follows without a recovery lasts twice as long, up to `longestOpenMs`. */
  readonly firstOpenMs: number;
  readonly longestOpenMs: number;
  /** The maximum number of breakers. Beyond it the oldest is forgotten, closed ones first. */
  readonly maxBreakers: number;
}

export const BREAKER_SETTINGS: BreakerSettings = {
  inARow: 5,
  failingPercent: 50,
  fewestResults: 10,
  windowMs: 600_000,
  firstOpenMs: 30_000,
  longestOpenMs: 900_000,
  maxBreakers: 200_000,
};

/** Whatever the time limit of a delivery is, an origin that has come back is probed several times before it. */
const LONGEST_OPEN_PART = 0.1;

export const breakerSettings = (giveUpAfterMs: number): BreakerSettings => {
  const longestOpenMs = Math.min(BREAKER_SETTINGS.longestOpenMs, giveUpAfterMs * LONGEST_OPEN_PART);
  const firstOpenMs = Math.min(BREAKER_SETTINGS.firstOpenMs, longestOpenMs);
  return { ...BREAKER_SETTINGS, firstOpenMs, longestOpenMs };
};

/** How long the opening lasts that is the `opens`th in a row. */
export const openingMs = (settings: BreakerSettings, opens: number): number =>
  Math.min(settings.longestOpenMs, settings.firstOpenMs * 2 ** (opens - 1));
