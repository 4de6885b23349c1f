import { Type, type Static } from 'typebox';
import { MAX_GPUS } from '../gpu-fallbacks.ts';

/** Candidates are counted up to this number. */
export const MAX_CANDIDATES = 10;

/** Why an attempt got its slot, and what it had waited for, as far as the scheduler knew. */
export const Placement = Type.Object({
  /** The free slots that fitted, with this one; MAX_CANDIDATES stands for that many or more. */
  candidates: Type.Integer({ minimum: 1, maximum: MAX_CANDIDATES }),
  /** Which of the run's GPU models the slot has, from 0; left out for a run with one model. */
  gpu_index: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_GPUS - 1 })),
  /** Seconds since the run was queued or queued again, without the time before a retry was due. */
  waited_s: Type.Number({ minimum: 0 }),
  /** The limit that kept it from a slot last; left out when none did. */
  held_back_by: Type.Optional(Type.Enum(['organisation_limit', 'concurrency_limit', 'concurrency_key'])),
});
export type Placement = Static<typeof Placement>;

/** Part of a sentence, such as "after 12.5 s, the only free slot". */
export const placementWords = ({ candidates, gpu_index, waited_s, held_back_by }: Placement): string =>
  [
    `after ${Math.round(waited_s * 10) / 10} s${held_back_by ? `, held back by ${LIMITS[held_back_by]}` : ''}`,
    candidates === 1 ? 'the only free slot' : `one of ${countWords(candidates)} free slots`,
    ...(gpu_index === undefined ? [] : [`of the ${ordinal(gpu_index + 1)} GPU of its list`]),
  ].join(', ');

const countWords = (candidates: number): string =>
  candidates < MAX_CANDIDATES ? String(candidates) : `${MAX_CANDIDATES} or more`;

const ordinal = (n: number): string => `${n}${['', 'st', 'nd', 'rd'][n] ?? 'th'}`;

const LIMITS = {
  organisation_limit: 'the limit of its organisation',
  concurrency_limit: 'the limit of its deployment',
  concurrency_key: 'its concurrency key',
} as const;
