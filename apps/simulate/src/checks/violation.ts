/** What a simulation checks, by what is broken. */
export type CheckName =
  | 'ends_once'
  | 'shown'
  | 'one_result'
  | 'limits'
  | 'slots'
  | 'losses'
  | 'decisions'
  | 'drains'
  | 'placement'
  | 'fairness'
  | 'no_idle_slot'
  | 'drained';

export interface Violation {
  readonly check: CheckName;
  /** In words. */
  readonly what: string;
  readonly atMs: number;
}

/** Reports a violation. The simulation ends after the step. */
export type Violate = (check: CheckName, what: string) => void;
