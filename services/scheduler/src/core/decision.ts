import type { Placement } from '@runledger/contracts/events/placement';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import {
  type ExecutingRun,
  type QueuedRun,
  isExecuting,
  mayHaveAnother,
  waitsSince,
} from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { errorMessage } from '@runledger/contracts/events/run-error';

/** A run that has not ended, as it was when the decision was made. Its request has no inputs here. */
export type LiveRun = QueuedRun | ExecutingRun;

interface OnRun<Of extends LiveRun = LiveRun> {
  readonly key: RunKey;
  readonly run: Of;
  /** The head that the decision rests on: the fence of its append. */
  readonly expected: number;
  /** The event at that head; null when it has no id. */
  readonly causedBy: string | null;
}

export interface Assign extends OnRun<QueuedRun> {
  readonly type: 'assign';
  readonly attempt: number;
  readonly executor: ExecutorId;
  readonly executor_public_key: string;
  readonly slot: number;
  /** Of the slot. */
  readonly gpu: GpuModel;
  readonly placement: Placement;
}

export interface Requeue extends OnRun<ExecutingRun> {
  readonly type: 'requeue';
  readonly reason: RunEventOf<'RunRequeued'>['data']['reason'];
  readonly message: string;
}

export interface TimeOut extends OnRun {
  readonly type: 'time_out';
  readonly reason: RunEventOf<'RunTimedOut'>['data']['reason'];
  readonly message: string;
}

export interface GiveUp extends OnRun {
  readonly type: 'give_up';
  readonly reason: RunEventOf<'RunGivenUp'>['data']['reason'];
  readonly message: string;
}

export interface EnforceCancel extends OnRun<ExecutingRun> {
  readonly type: 'enforce_cancel';
  readonly message: string;
}

export interface DeclareLost {
  readonly type: 'declare_lost';
  readonly executor: ExecutorId;
  /** The broker's time of the last received heartbeat; null without one. */
  readonly lastHeartbeat: string | null;
  readonly message: string;
  /** A later process of its name has registered, as after every restart that was not a stop. */
  readonly restarted?: true;
}

export type RunDecision = Assign | Requeue | TimeOut | GiveUp | EnforceCancel;
export type Decision = RunDecision | DeclareLost;

/** The ids and times of an event, which come from outside the core. */
export interface Stamp {
  readonly event_id: string;
  /** ISO 8601. */
  readonly time: string;
  readonly instance: string;
}

type AssignedData = RunEventOf<'RunAssigned'>['data'];

/** What the scheduler does not keep in memory. */
export type Assignment = Pick<AssignedData, 'slot_allocation_id' | 'inputs' | 'inputs_blob' | 'term'>;

export type EndingEvent =
  | RunEventOf<'RunRequeued'>
  | RunEventOf<'RunTimedOut'>
  | RunEventOf<'RunGivenUp'>
  | RunEventOf<'RunCancelEnforced'>;

/** The event has, or names, everything that the executor needs, because the executor may read nothing else of the log. */
export const assignedEvent = (
  decision: Assign,
  stamp: Stamp,
  assignment: Assignment,
): RunEventOf<'RunAssigned'> => {
  const { request } = decision.run;
  return {
    ...envelope(decision, stamp),
    type: 'RunAssigned',
    attempt: decision.attempt,
    executor_id: decision.executor,
    data: {
      ...assignment,
      slot: decision.slot,
      gpu: decision.gpu,
      runner: request.runner,
      deployment_id: request.deployment_id,
      workflow_version_id: request.workflow_version_id,
      workflow_sha256: request.workflow_sha256,
      ...(request.file_inputs && { file_inputs: request.file_inputs }),
      ...(request.secret_inputs && { secret_inputs: request.secret_inputs }),
      run_timeout_s: request.run_timeout_s,
      start_deadline: { since: waitsSince(decision.run), within_s: request.start_deadline_s },
      ...(request.retry_on &&
        mayHaveAnother(decision.run, decision.attempt) && { retry_on: request.retry_on }),
      ...(request.if_no_output && { if_no_output: request.if_no_output }),
      ...(request.has_log_masks && { has_log_masks: true }),
      ...(request.has_input_targets && { has_input_targets: true }),
      executor_public_key: decision.executor_public_key,
      reason: decision.placement,
    },
  };
};

/** `progress`, 0 to 1, is the last one that the attempt reported, if any. */
export const endingEvent = (
  decision: Exclude<RunDecision, Assign>,
  stamp: Stamp,
  progress?: number,
): EndingEvent => {
  const { run } = decision;
  const message = errorMessage(decision.message);
  const shared = {
    ...envelope(decision, stamp),
    attempt: run.attempt?.number ?? 0,
    executor_id: isExecuting(run) ? run.attempt.executor_id : null,
  };
  const reached = progress === undefined ? {} : { progress };
  switch (decision.type) {
    case 'requeue':
      return { ...shared, type: 'RunRequeued', data: { reason: decision.reason, message } };
    case 'time_out':
      return { ...shared, type: 'RunTimedOut', data: { reason: decision.reason, message, ...reached } };
    case 'give_up':
      return { ...shared, type: 'RunGivenUp', data: { reason: decision.reason, message, ...reached } };
    case 'enforce_cancel':
      return { ...shared, type: 'RunCancelEnforced', data: { message, ...reached } };
  }
};

/** The run ends instead of being assigned, because its assignment cannot be made. */
export const giveUpInstead = ({ key, run, expected, causedBy }: Assign, message: string): GiveUp => ({
  type: 'give_up',
  key,
  run,
  expected,
  causedBy,
  reason: 'internal_error',
  message,
});

const envelope = (
  { key, run, causedBy }: RunDecision,
  { event_id, time, instance }: Stamp,
): Pick<
  RunEventOf<'RunAssigned'>,
  | 'version'
  | 'event_id'
  | 'run_id'
  | 'org_id'
  | 'time'
  | 'writer'
  | 'correlation_id'
  | 'causation_id'
  | 'traceparent'
> => ({
  version: 1,
  event_id,
  run_id: key.run_id,
  org_id: key.org_id,
  time,
  writer: { service: 'scheduler', instance },
  correlation_id: run.correlation_id,
  causation_id: causedBy,
  traceparent: run.traceparent,
});
