import { MAX_PRIORITY, MIN_PRIORITY } from '@runledger/contracts/fair-share';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { RunRequest } from '@runledger/contracts/fold/run';
import type { QueueOptions } from './queue-options.ts';

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
    ...atLeast(min_priority, { member: 'priority', value: priority, setting: 'bounds.min_priority' }),
    ...atMost(max_priority, { member: 'priority', value: priority, setting: 'bounds.max_priority' }),
    ...atMost(deployment.run_timeout_s, {
      member: 'run_timeout_s',
      value: run_timeout_s,
      setting: 'run_timeout_s',
    }),
    ...atMost(deployment.start_deadline_s, {
      member: 'start_deadline_s',
      value: start_deadline_s,
      setting: 'start_deadline_s',
    }),
    ...atMost(max_delay_s, { member: 'delay_s', value: delay_s, setting: 'bounds.max_delay_s' }),
    ...tooLate(start_at, max_delay_s, now),
  ];
};

/** Null is not requested. */
interface Requested extends Pick<BeyondBound, 'member' | 'setting'> {
  readonly value: number | null;
}

const atLeast = (bound: number, { value, ...what }: Requested): BeyondBound[] =>
  value !== null && value < bound ? [{ ...what, kind: 'below_minimum', bound }] : [];

const atMost = (bound: number, { value, ...what }: Requested): BeyondBound[] =>
  value !== null && value > bound ? [{ ...what, kind: 'above_maximum', bound }] : [];

/* oxlint-disable no-restricted-globals -- these read and write times; they do not read the clock */

const tooLate = (start_at: string | null, maxDelayS: number, now: number): BeyondBound[] => {
  const latest = now + maxDelayS * 1_000;
  if (start_at === null || Date.parse(start_at) <= latest) return [];
  const bound = new Date(latest).toISOString();
  return [{ member: 'start_at', kind: 'above_maximum', bound, setting: 'bounds.max_delay_s' }];
};

/** Seconds from now by which a run is delayed. */
export const delayOf = (
  { delay_s = 0, start_at }: Pick<RunRequest, 'delay_s' | 'start_at'>,
  now: number,
): number => (start_at === undefined ? delay_s : Math.max((Date.parse(start_at) - now) / 1_000, 0));
