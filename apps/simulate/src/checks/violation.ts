import type { InvariantName } from '@runledger/testing/invariants';

export interface Violation {
  readonly check: InvariantName;
  /** In words. */
  readonly what: string;
  readonly atMs: number;
}

/** Reports a violation. The simulation ends after the step. */
export type Violate = (check: InvariantName, what: string) => void;
