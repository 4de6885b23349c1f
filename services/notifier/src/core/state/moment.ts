/** When an input is taken, and by what chance. */
export interface Moment {
  /** Monotonic, in milliseconds. */
  readonly at: number;
  /** The broker's clock, in milliseconds since 1970. */
  readonly now: number;
  /** 0 to 1. */
  readonly chance: number;
}
