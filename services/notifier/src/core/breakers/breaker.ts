import { openingMs, type BreakerSettings } from './breaker-settings.ts';
import {
  countFailures,
  countResult,
  countResults,
  EMPTY_WINDOW,
  type ResultWindow,
} from './result-window.ts';

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
