import { MAX_PRIORITY, MIN_PRIORITY } from '@runledger/contracts/fair-share';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { QueueOptions } from './queue-options.ts';

/** A value of a request that its deployment does not allow. */
export interface BeyondBound {
  readonly member: keyof QueueOptions;
  readonly kind: 'below_minimum' | 'above_maximum';
  readonly bound: number;
  /** What sets the bound. */
  readonly setting: string;
}

export const beyondBounds = (
  { priority, run_timeout_s, start_deadline_s }: QueueOptions,
  deployment: Deployment,
): BeyondBound[] => {
  const { min_priority = MIN_PRIORITY, max_priority = MAX_PRIORITY } = deployment.bounds ?? {};
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
