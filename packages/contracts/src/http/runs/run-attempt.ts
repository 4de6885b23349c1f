import { Type, type Static } from 'typebox';
import { MAX_CANDIDATES, Placement } from '../../events/placement.ts';
import { RunError } from '../../events/run-error.ts';
import { GpuModel } from '../../gpu.ts';
import { enumInWords, nullable, type InWords } from '../../schemas.ts';
import { time } from '../fields.ts';

/** The list is closed. `not-started` is reserved for runs that are held back on purpose; nothing uses it yet. */
const RUN_STATUSES = {
  'not-started': 'Reserved for runs that are held back on purpose. No run has it yet.',
  queued: 'It waits for a slot: for the first time, or for another attempt.',
  started: 'An executor has it and prepares it: the workflow has not begun to execute.',
  running: 'The workflow executes.',
  uploading: 'The workflow has ended, and its output files are being stored.',
  success: 'Final: the workflow has ended without an error, and its outputs are stored.',
  failed: 'Final: it ended with an error. `end_reason` and `error` say which.',
  timeout: 'Final: one of its time limits was over.',
  cancelled: 'Final: it was cancelled before it ended otherwise.',
} as const satisfies InWords<string>;

/** Why a run ended, each with the statuses that go with it. */
const END_REASONS = {
  completed: 'The workflow has ended without an error. Of `success`.',
  workflow_error:
    'The workflow, its program or its inputs caused the error: `error.kind` says more. Of `failed`.',
  executor_lost:
    'The executor of the attempt sent no more heartbeats, or was stopped; of a run, that of its last attempt. Of `failed`.',
  no_capacity:
    'No executor that could have executed it was there when its start deadline was over. Of `timeout`.',
  start_deadline: 'It had not begun to execute when its start deadline was over. Of `timeout`.',
  run_timeout:
    'An attempt executed longer than `run_timeout_s`, or could not store its files in time. Of `timeout`.',
  storage_full:
    'A store had no room: for its outputs (`failed`), or for another attempt until its start deadline was over (`timeout`).',
  cancelled_by_client: 'A request cancelled it. Of `cancelled`.',
  cancelled_by_operator: 'An operator of the installation cancelled it. Of `cancelled`.',
  deployment_removed: 'The workflow that it was queued with is gone. Of `failed`.',
  log_expired: 'Its first facts left the log, because of their age, before it had ended. Of `failed`.',
  internal_error: 'An error of the system: `error.kind` says more. Of `failed`.',
} as const satisfies InWords<string>;

const WEBHOOK_STATUSES = {
  'not-started':
    'Nothing is known of its notifications: none was due yet, or the first attempt is under way.',
  running: 'A notification was not accepted at once, and is tried again; or a redelivery was requested.',
  success: 'The receiver has accepted the final notification.',
  failed: 'The final notification was given up: its deliveries say why.',
} as const satisfies InWords<string>;

export const RunStatus = enumInWords(RUN_STATUSES, {
  title: 'RunStatus',
  description: 'What a run does now, or how it ended. The list is closed.',
});
export type RunStatus = Static<typeof RunStatus>;

export const EndReason = enumInWords(END_REASONS, {
  title: 'EndReason',
  description: 'Why a run or an attempt ended.',
});

export const WebhookStatus = enumInWords(WEBHOOK_STATUSES, {
  title: 'WebhookStatus',
  description: 'The state of the notifications of a run.',
});
export type WebhookStatus = Static<typeof WebhookStatus>;

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
