import type { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';

/** What a client may ask for beside what is executed: when the run starts and how long it may take. */
export interface QueueOptions {
  readonly priority: number;
  /** Null without one. */
  readonly concurrency_key: string | null;
  /** Null for that of the deployment. */
  readonly run_timeout_s: number | null;
  /** Null for that of the deployment. */
  readonly start_deadline_s: number | null;
  /** Seconds before which it does not start; 0 to start at once. */
  readonly delay_s: number;
  /** Instead of a delay, the time before which it does not start, in UTC; null without one. */
  readonly start_at: string | null;
  /** A set: each once, in alphabetical order. */
  readonly tags: string[];
}

/** Of a request that names none of them. */
export const DEFAULT_OPTIONS: QueueOptions = {
  priority: 0,
  concurrency_key: null,
  run_timeout_s: null,
  start_deadline_s: null,
  delay_s: 0,
  start_at: null,
  tags: [],
};

export const OPTION_NAMES = Object.keys(DEFAULT_OPTIONS) as readonly (keyof QueueOptions)[];

export const queueOptions = (body: Pick<DeploymentRunRequest, keyof QueueOptions>): QueueOptions => ({
  priority: body.priority ?? DEFAULT_OPTIONS.priority,
  concurrency_key: body.concurrency_key ?? null,
  run_timeout_s: body.run_timeout_s ?? null,
  start_deadline_s: body.start_deadline_s ?? null,
  delay_s: body.delay_s ?? 0,
  start_at: typeof body.start_at === 'string' ? inUtc(body.start_at) : null,
  tags: [...new Set(body.tags)].toSorted(),
});

// oxlint-disable-next-line no-restricted-globals -- it writes a time in another way; it does not read the clock
const inUtc = (time: string): string => new Date(time).toISOString();
