export interface BreakerSettings {
  /** So many failures without a success between them open a breaker. */
  readonly inARow: number;
  /** More than so many percent of at least `fewestResults` in `windowMs` open it too. */
  readonly failingPercent: number;
  readonly fewestResults: number;
  readonly windowMs: number;
  /** The first opening; each one that follows without a recovery lasts twice as long, up to `longestOpenMs`. */
  readonly firstOpenMs: number;
  readonly longestOpenMs: number;
  /** So many receivers are remembered without an opossum breaker; the oldest beyond that is forgotten. */
  readonly mostDormant: number;
}

export const BREAKER_SETTINGS: BreakerSettings = {
  inARow: 5,
  failingPercent: 50,
  fewestResults: 10,
  windowMs: 600_000,
  firstOpenMs: 30_000,
  longestOpenMs: 900_000,
  mostDormant: 200_000,
};

/** How long the opening lasts that is the `opens`th in a row. */
export const openingMs = (settings: BreakerSettings, opens: number): number =>
  Math.min(settings.longestOpenMs, settings.firstOpenMs * 2 ** (opens - 1));

/** How exactly the end of an opening is kept by those that share a timer: a second, where the first lasts 30. */
export const wakeEveryMs = (settings: BreakerSettings): number =>
  Math.max(1, Math.floor(settings.firstOpenMs / 30));
