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
