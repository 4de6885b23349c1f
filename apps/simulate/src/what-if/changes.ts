/** The most slots of a GPU model, and the highest limit, that can be tried. */
export const MAX_SLOTS = 100_000;

/** What differs from the defaults: weights and limits of organisations, by id, and the number of slots of GPU models. */
export interface FairShareSettings {
  readonly weights: ReadonlyMap<string, number>;
  readonly limits: ReadonlyMap<string, number>;
}

export interface Changes extends FairShareSettings {
  /** Instead of the executors of that day that have slots of the model. */
  readonly gpus: ReadonlyMap<string, number>;
}
