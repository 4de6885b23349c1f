/** Why a run or an attempt was ended by the scheduler. */
export const DECIDED_ENDS = [
  'cancel_enforced',
  'requeued_executor_lost',
  'requeued_executor_left',
  'requeued_not_started',
  'run_timeout',
  'start_deadline',
  'no_capacity',
  'storage_full',
  'executor_lost',
  'internal_error',
] as const;
type DecidedEnd = (typeof DECIDED_ENDS)[number];

/** What is counted when a decision is executed. */
export interface DecisionMetrics {
  assigned(): void;
  executorLost(): void;
  ended(reason: DecidedEnd): void;
  conflict(): void;
}
