import type { WorkflowRun } from '@runledger/contracts/http/run';
import type { RunEvent, RunEventOf } from '@runledger/contracts/run-event';
import {
  aRun,
  assigned,
  cancelled,
  cancelRequested,
  failed,
  givenUp,
  ONE,
  OTHER,
  queued,
  requeued,
  started,
  succeeded,
  timedOut,
  uploading,
} from '@runledger/testing/run-events';
import { timeOf } from '../fixtures/folded-runs.ts';

export const key = aRun();
export const id = '01920000-0000-7000-8000-000000000001';
const FIRST = '01920000-0000-7000-8000-0000000000aa';
const SECOND = '01920000-0000-7000-8000-0000000000bb';

const beginning = [queued(key), assigned(key, { occupancy: FIRST })];
const running = [...beginning, started(key)];
const again = [...running, requeued(key), assigned(key, { attempt: 2, executor: OTHER, occupancy: SECOND })];
const enforced: RunEventOf<'RunCancelEnforced'> = {
  ...cancelled(key),
  type: 'RunCancelEnforced',
  data: { message: 'the executor is gone', progress: 0.6 },
};
const byOperator: RunEventOf<'RunCancelRequested'> = {
  ...cancelRequested(key, 1, ONE),
  data: { by: 'operator', user_id: null },
};
const late: RunEventOf<'RunTimedOut'> = {
  ...timedOut(key, 'run_timeout', 1, ONE),
  data: { reason: 'run_timeout', message: 'it took too long', progress: 0.9 },
};

type Varying = Pick<WorkflowRun, 'status' | 'live_status' | 'progress'>;
type Moments = Pick<WorkflowRun, 'queued_at' | 'started_at' | 'ended_at' | 'updated_at'>;
type Durations = Pick<
  WorkflowRun,
  'duration' | 'cold_start_duration' | 'cold_start_duration_total' | 'run_duration'
>;
type Attempt = Pick<WorkflowRun, 'gpu_event_id' | 'compute_function_call_id'>;
type End = Pick<WorkflowRun, 'finished' | 'end_reason'>;

/** All fields that are not the same in every situation. */
export type Situated = Varying & Moments & Durations & Attempt & End;

interface Situation {
  readonly name: string;
  /** One each second and a half, from the first on. */
  readonly events: readonly RunEvent[];
  /** What it shows, with a report of progress 0.4 and "row 200/500" at hand. */
  readonly is: Situated;
}

const none: Attempt = { gpu_event_id: null, compute_function_call_id: null };
const first: Attempt = { gpu_event_id: FIRST, compute_function_call_id: `${key.run_id}.1` };
const second: Attempt = { gpu_event_id: SECOND, compute_function_call_id: `${key.run_id}.2` };

/** Which event was the last of its kind; seconds between them. */
interface Seen {
  readonly queued?: number;
  readonly started?: number;
  readonly ended?: number;
  readonly updated: number;
  readonly duration?: number;
  readonly cold?: number;
  readonly coldTotal?: number;
  readonly ran?: number;
}

const at = (sequence: number | undefined): string | null =>
  sequence === undefined ? null : timeOf(sequence);
const seen = ({ queued: from = 1, updated, ...rest }: Seen): Moments & Durations => ({
  queued_at: timeOf(from),
  started_at: at(rest.started),
  ended_at: at(rest.ended),
  updated_at: timeOf(updated),
  duration: rest.duration ?? null,
  cold_start_duration: rest.cold ?? null,
  cold_start_duration_total: rest.coldTotal ?? null,
  run_duration: rest.ran ?? null,
});

const begun = { started: 3, cold: 3, coldTotal: 3 };
const goesOn = (status: WorkflowRun['status'], live_status: string, progress: number): Varying & End => ({
  status,
  live_status,
  progress,
  finished: false,
  end_reason: null,
});
const ended = (
  status: WorkflowRun['status'],
  end_reason: WorkflowRun['end_reason'],
  progress: number,
): Varying & End => ({ status, live_status: null, progress, finished: true, end_reason });

const endedThird = { ended: 3, updated: 3, duration: 3 };
const ranUntil = {
  4: { ended: 4, updated: 4, duration: 4.5, ran: 1.5 },
  5: { ended: 5, updated: 5, duration: 6, ran: 3 },
};

const table: readonly [string, readonly RunEvent[], Varying & End, Attempt, Seen][] = [
  ['queued', [queued(key)], goesOn('queued', 'waiting for an A10G', 0), none, { updated: 1 }],
  ['started', beginning, goesOn('started', 'row 200/500', 0.4), first, { updated: 2 }],
  ['running', running, goesOn('running', 'row 200/500', 0.4), first, { ...begun, updated: 3 }],
  [
    'uploading',
    [...running, uploading(key)],
    goesOn('uploading', 'storing output files', 0.4),
    first,
    { ...begun, updated: 4 },
  ],
  [
    'started and asked to stop',
    [...beginning, cancelRequested(key, 1, ONE)],
    goesOn('started', 'cancelling', 0.4),
    first,
    { updated: 3 },
  ],
  [
    'running and asked to stop',
    [...running, cancelRequested(key, 1, ONE)],
    goesOn('running', 'cancelling', 0.4),
    first,
    { ...begun, updated: 4 },
  ],
  [
    'uploading and asked to stop',
    [...running, uploading(key), cancelRequested(key, 1, ONE)],
    goesOn('uploading', 'cancelling', 0.4),
    first,
    { ...begun, updated: 5 },
  ],
  [
    'queued again after a loss',
    [...running, requeued(key)],
    goesOn('queued', 'waiting for an A10G', 0),
    first,
    { queued: 4, updated: 4 },
  ],
  ['started again', again, goesOn('started', 'row 200/500', 0.4), second, { queued: 4, updated: 5 }],
  [
    'running again',
    [...again, started(key, 2, OTHER)],
    goesOn('running', 'row 200/500', 0.4),
    second,
    { queued: 4, started: 6, cold: 3, coldTotal: 7.5, updated: 6 },
  ],
  [
    'success',
    [...running, succeeded(key)],
    ended('success', 'completed', 1),
    first,
    { ...begun, ...ranUntil[4] },
  ],
  [
    'success after an upload',
    [...running, uploading(key), succeeded(key)],
    ended('success', 'completed', 1),
    first,
    { ...begun, ...ranUntil[5] },
  ],
  [
    'failed while it ran',
    [...running, failed(key)],
    ended('failed', 'workflow_error', 0.25),
    first,
    { ...begun, ...ranUntil[4] },
  ],
  [
    'failed before it ran',
    [...beginning, failed(key)],
    ended('failed', 'workflow_error', 0.25),
    first,
    endedThird,
  ],
  [
    'failed, its executor lost',
    [...running, uploading(key), givenUp(key, 'executor_lost', 1, ONE)],
    ended('failed', 'executor_lost', 0),
    first,
    { ...begun, ...ranUntil[5] },
  ],
  [
    'failed, its executor lost again',
    [...again, givenUp(key, 'executor_lost', 2, OTHER)],
    ended('failed', 'executor_lost', 0),
    second,
    { queued: 4, ended: 6, updated: 6, duration: 7.5 },
  ],
  [
    'failed, its deployment removed while it waited',
    [queued(key), givenUp(key, 'deployment_removed')],
    ended('failed', 'deployment_removed', 0),
    none,
    { ended: 2, updated: 2, duration: 1.5 },
  ],
  [
    'failed by an error of ours',
    [...beginning, givenUp(key, 'internal_error', 1, ONE)],
    ended('failed', 'internal_error', 0),
    first,
    endedThird,
  ],
  [
    'timeout, no executor for it',
    [queued(key), timedOut(key, 'no_capacity')],
    ended('timeout', 'no_capacity', 0),
    none,
    { ended: 2, updated: 2, duration: 1.5 },
  ],
  [
    'timeout, waiting too long',
    [queued(key), timedOut(key, 'start_deadline')],
    ended('timeout', 'start_deadline', 0),
    none,
    { ended: 2, updated: 2, duration: 1.5 },
  ],
  [
    'timeout, waiting too long again',
    [...running, requeued(key), timedOut(key, 'start_deadline', 1)],
    ended('timeout', 'start_deadline', 0),
    first,
    { queued: 4, ended: 5, updated: 5, duration: 6 },
  ],
  [
    'timeout, not begun in time',
    [...beginning, timedOut(key, 'start_deadline', 1, ONE)],
    ended('timeout', 'start_deadline', 0),
    first,
    endedThird,
  ],
  [
    'timeout, running too long',
    [...running, late],
    ended('timeout', 'run_timeout', 0.9),
    first,
    { ...begun, ...ranUntil[4] },
  ],
  [
    'timeout, uploading too long',
    [...running, uploading(key), late],
    ended('timeout', 'run_timeout', 0.9),
    first,
    { ...begun, ...ranUntil[5] },
  ],
  [
    'cancelled while it was queued',
    [queued(key), cancelRequested(key)],
    ended('cancelled', 'cancelled_by_client', 0),
    none,
    { ended: 2, updated: 2, duration: 1.5 },
  ],
  [
    'cancelled while it was queued again',
    [...running, requeued(key), cancelRequested(key, 1)],
    ended('cancelled', 'cancelled_by_client', 0),
    first,
    { queued: 4, ended: 5, updated: 5, duration: 6 },
  ],
  [
    'cancelled before it ran',
    [...beginning, cancelRequested(key, 1, ONE), cancelled(key)],
    ended('cancelled', 'cancelled_by_client', 0.75),
    first,
    { ended: 4, updated: 4, duration: 4.5 },
  ],
  [
    'cancelled while it ran',
    [...running, cancelRequested(key, 1, ONE), cancelled(key)],
    ended('cancelled', 'cancelled_by_client', 0.75),
    first,
    { ...begun, ...ranUntil[5] },
  ],
  [
    'cancelled while it uploaded',
    [...running, uploading(key), cancelRequested(key, 1, ONE), cancelled(key)],
    ended('cancelled', 'cancelled_by_client', 0.75),
    first,
    { ...begun, ended: 6, updated: 6, duration: 7.5, ran: 4.5 },
  ],
  [
    'cancelled by an operator',
    [...running, byOperator, cancelled(key)],
    ended('cancelled', 'cancelled_by_operator', 0.75),
    first,
    { ...begun, ...ranUntil[5] },
  ],
  [
    'cancelled by force',
    [...running, cancelRequested(key, 1, ONE), enforced],
    ended('cancelled', 'cancelled_by_client', 0.6),
    first,
    { ...begun, ...ranUntil[5] },
  ],
];

export const situations: readonly Situation[] = table.map(([name, events, what, attempt, when]) => ({
  name,
  events,
  is: { ...what, ...attempt, ...seen(when) },
}));
