import { Type, type Static } from 'typebox';
import { MAX_CANDIDATES, Placement } from '../../events/placement.ts';
import { RunError } from '../../events/run-error.ts';
import { GpuModel } from '../../gpu.ts';
import { nullable } from '../fields/optional.ts';
import { time } from '../fields/values.ts';
import { EndReason } from './run-status.ts';

const { candidates, choice, held_back_by } = Placement.properties;

const RunPlacement = Type.Object(
  {
    candidates: {
      ...candidates,
      description: `The number of free slots that fitted, with its own; ${MAX_CANDIDATES} for that many or more.`,
      examples: [2],
    },
    choice,
    gpu_index: nullable(
      Type.Integer({
        minimum: 0,
        description: "Which of the deployment's `gpus` its slot has, from 0; null for a run with one model.",
        examples: [0],
      }),
    ),
    waited_s: Type.Number({
      minimum: 0,
      description: 'Seconds since the run was queued or queued again, without the wait before a retry.',
      examples: [12.5],
    }),
    warm_wait_s: nullable(
      Type.Number({
        minimum: 0,
        description:
          'Seconds for which it left free slots to others and waited for a warm one; null for none.',
        examples: [3],
      }),
    ),
    held_back_by: nullable(held_back_by, 'Null when none did.'),
    sentence: Type.String({
      description: 'The same for people.',
      examples: ['after 12.5 s, one of 2 free slots'],
    }),
  },
  {
    title: 'RunPlacement',
    description: 'Why an attempt got its slot, and what it had waited for.',
  },
);

export const AttemptPlacement = nullable(
  RunPlacement,
  'Why it got its slot, and what it had waited for. Null when the scheduler did not say it.',
);

/** Of a run or of an attempt. */
export const StartedAt = nullable(
  time('The time when the workflow began to execute.'),
  'Null while it has not begun.',
);

export const RunAttempt = Type.Object(
  {
    number: Type.Integer({ minimum: 1, description: 'Its number, from 1 for the first.', examples: [1] }),
    executor: Type.String({
      description: 'The name of its executor, which stays the same over restarts of the executor.',
      examples: ['desk'],
    }),
    gpu: { ...GpuModel, description: 'The GPU model of its slot, in upper case.' },
    placement: AttemptPlacement,
    started_at: StartedAt,
    ended_at: nullable(time('When it ended.'), 'Null while it goes on.'),
    end_reason: nullable(EndReason, 'Why it ended. Null while it goes on.'),
    error: nullable(RunError, 'Why it failed or timed out. Null while it goes on, and for other ends.'),
  },
  { title: 'RunAttempt', description: 'One try to execute a run on one slot of an executor.' },
);
export type RunAttempt = Static<typeof RunAttempt>;
