import { MAX_PRIORITY, MIN_PRIORITY } from '@runledger/contracts/run-options';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { RunRequest } from '@runledger/contracts/fold/run';
import type { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';

/** A value of a request that its deployment does not allow. */
export interface BeyondBound {
  readonly member: keyof QueueOptions;
  readonly kind: 'below_minimum' | 'above_maximum';
  /** Of `start_at` a time. */
  readonly bound: number | string;
  /** What sets the bound. */
  readonly setting: string;
}

export const beyondBounds = (
  { priority, run_timeout_s, start_deadline_s, delay_s, start_at }: QueueOptions,
  deployment: Deployment,
  now: number,
): BeyondBound[] => {
  const {
    min_priority = MIN_PRIORITY,
    max_priority = MAX_PRIORITY,
    max_delay_s = Infinity,
  } = deployment.bounds ?? {};
  return [
    ...below('priority', priority, min_priority, 'bounds.min_priority'),
    ...above('priority', priority, max_priority, 'bounds.max_priority'),
    ...above('run_timeout_s', run_timeout_s, deployment.run_timeout_s, 'run_timeout_s'),
    ...above('start_deadline_s', start_deadline_s, deployment.start_deadline_s, 'start_deadline_s'),
    ...above('delay_s', delay_s, max_delay_s, 'bounds.max_delay_s'),
    ...tooLate(start_at, max_delay_s, now),
  ];
};

type Member = BeyondBound['member'];

/** Null is not requested. */
const above = (member: Member, value: number | null, bound: number, setting: string): BeyondBound[] =>
  value !== null && value > bound ? [{ member, kind: 'above_maximum', bound, setting }] : [];

const below = (member: Member, value: number, bound: number, setting: string): BeyondBound[] =>
  value < bound ? [{ member, kind: 'below_minimum', bound, setting }] : [];

/* oxlint-disable no-restricted-globals -- these read and write times; they do not read the clock */

const tooLate = (start_at: string | null, maxDelayS: number, now: number): BeyondBound[] => {
  const latest = now + maxDelayS * 1_000;
  if (start_at === null || Date.parse(start_at) <= latest) return [];
  const bound = new Date(latest).toISOString();
  return [{ member: 'start_at', kind: 'above_maximum', bound, setting: 'bounds.max_delay_s' }];
};

interface RequestedStart {
  readonly delay_s?: RunRequest['delay_s'];
  readonly start_at?: RunRequest['start_at'];
}

/** Seconds from now by which a run is delayed. */
export const delayOf = ({ delay_s = 0, start_at }: RequestedStart, now: number): number =>
  start_at === undefined ? delay_s : Math.max((Date.parse(start_at) - now) / 1_000, 0);

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
