import { Type, type Static } from 'typebox';
import { MAX_GPUS } from '../run-options.ts';
import { enumInWords } from '../schemas.ts';

/** Candidates are counted up to this number. */
export const MAX_CANDIDATES = 10;

/** Why an attempt got its slot, and what it had waited for, as far as the scheduler knew. */
export const Placement = Type.Object({
  /** The free slots that fitted, with this one; MAX_CANDIDATES stands for that many or more. */
  candidates: Type.Integer({ minimum: 1, maximum: MAX_CANDIDATES }),
  choice: enumInWords(
    {
      warm: 'Its slot had its workflow version loaded, as the executor said.',
      prepared:
        'Its executor had prepared its version: code, packages and weights were there, and nothing was loaded.',
      cold: 'No free slot had either, as far as known.',
    },
    { description: 'How ready its slot was for its workflow version.' },
  ),
  /** Which of the run's GPU models the slot has, from 0; left out for a run with one model. */
  gpu_index: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_GPUS - 1 })),
  /** Seconds since the run was queued or queued again, without the time before a retry was due. */
  waited_s: Type.Number({ minimum: 0 }),
  /** Of these, since it left the first free slot to others and waited for a warm one; left out when it did not. */
  warm_wait_s: Type.Optional(Type.Number({ minimum: 0 })),
  /** Left out when none did. */
  held_back_by: Type.Optional(
    enumInWords(
      {
        organisation_limit: 'Its organisation executed as many runs as an operator allows.',
        concurrency_limit: 'As many runs of its deployment as its limit allows executed.',
        concurrency_key: 'Another run with its concurrency key executed.',
      },
      { description: 'The limit that kept it from a slot last.' },
    ),
  ),
});
export type Placement = Static<typeof Placement>;

/** Part of a sentence, such as "after 12.5 s, the only free slot". */
export const placementWords = ({
  candidates,
  choice,
  gpu_index,
  waited_s,
  warm_wait_s,
  held_back_by,
}: Placement): string =>
  [
    `after ${tenths(waited_s)} s${warm_wait_s === undefined ? '' : `, ${tenths(warm_wait_s)} of them for a warm slot`}${held_back_by ? `, held back by ${LIMITS[held_back_by]}` : ''}`,
    candidates === 1 ? 'the only free slot' : `one of ${countWords(candidates)} free slots`,
    ...(choice === 'warm' ? ['which has its version loaded'] : []),
    ...(choice === 'prepared' ? ['whose executor has its version prepared'] : []),
    ...(gpu_index === undefined ? [] : [`of the ${ordinal(gpu_index + 1)} GPU of its list`]),
  ].join(', ');

const tenths = (seconds: number): number => Math.round(seconds * 10) / 10;

const countWords = (candidates: number): string =>
  candidates < MAX_CANDIDATES ? String(candidates) : `${MAX_CANDIDATES} or more`;

const ordinal = (n: number): string => `${n}${['', 'st', 'nd', 'rd'][n] ?? 'th'}`;

const LIMITS = {
  organisation_limit: 'the limit of its organisation',
  concurrency_limit: 'the limit of its deployment',
  concurrency_key: 'its concurrency key',
} as const;
