import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { executorId, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import type { StartedRun } from '@runledger/contracts/fold/run';
import { parseRunEvent, type RunEventOf } from '@runledger/contracts/events/run-event';
import {
  lifecycleFilter,
  parseLifecycleSubject,
  runEventSubject,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';

/** One attempt of a run, given to this executor. */
export interface Assignment extends RunKey {
  readonly attempt: number;
  readonly executor_id: ExecutorId;
  readonly event: RunEventOf<'RunAssigned'>;
}

export type ReadAssignment =
  | { kind: 'assignment'; assignment: Assignment; history: RunHistory }
  | { kind: 'refused'; why: string }
  /** Written by a later release: reading on would be a guess. */
  | { kind: 'newer_version'; version: number };

/** Names one attempt in maps and logs; the run API shows it as `compute_function_call_id`. */
export const attemptName = (attempt: { run_id: string; attempt: number }): string =>
  `${attempt.run_id}.${attempt.attempt}`;

/**
 * The beginning of an attempt, as far as an executor may know the run: what was before the assignment is not shown
 * to it. The message must have been appended as the facts of a run are; its own sequence is the head to go on from.
 */
export const readAssignment = (message: StoredMessage): ReadAssignment => {
  const subject = parseLifecycleSubject(message.subject);
  if (subject === undefined) return refused(`${message.subject} is not the subject of a lifecycle fact`);
  if (message.fence !== lifecycleFilter(subject) || message.expectedSequence === null)
    return refused('the append was not fenced on the lifecycle of its run');
  const parsed = parseRunEvent(message.body);
  switch (parsed.kind) {
    case 'invalid':
      return refused(parsed.why);
    case 'unknown_type':
      return refused(`${parsed.type} is no RunAssigned`);
    case 'newer_version':
      return { kind: 'newer_version', version: parsed.version };
    case 'event':
  }
  const { event } = parsed;
  if (
    event.type !== 'RunAssigned' ||
    event.executor_id === null ||
    runEventSubject(event) !== message.subject
  )
    return refused(`${event.type} does not belong under ${message.subject}`);
  const assignment: Assignment = {
    org_id: orgId(event.org_id),
    run_id: runId(event.run_id),
    attempt: event.attempt,
    executor_id: executorId(event.executor_id),
    event,
  };
  return {
    kind: 'assignment',
    assignment,
    history: { head: message.sequence, state: justAssigned(assignment, message) },
  };
};

const refused = (why: string): ReadAssignment => ({ kind: 'refused', why });

const unseen = '00000000-0000-0000-0000-000000000000';

/** The run as the fold would have it, but for the request, which the executor does not see and the fold never asks for. */
const justAssigned = (
  { org_id, run_id, attempt, executor_id, event }: Assignment,
  { sequence, time }: StoredMessage,
): StartedRun => ({
  status: 'started',
  org_id,
  run_id,
  number: sequence,
  request: {
    user_id: unseen,
    origin: 'api',
    deployment_id: unseen,
    workflow_id: unseen,
    workflow_version_id: event.data.workflow_version_id,
    workflow_sha256: event.data.workflow_sha256,
    machine_id: unseen,
    machine_name: '',
    machine_type: '',
    machine_version: '',
    runner: event.data.runner,
    gpu: event.data.gpu,
    inputs: event.data.inputs,
    webhook: null,
    webhook_intermediate_status: false,
    start_deadline_s: event.data.run_timeout_s,
    run_timeout_s: event.data.run_timeout_s,
    max_attempts: 1,
    rerun_of: null,
  },
  correlation_id: event.correlation_id,
  traceparent: event.traceparent,
  created_at: time,
  queued_at: time,
  updated_at: time,
  attempt: {
    number: attempt,
    executor_id,
    occupancy_id: event.data.occupancy_id,
    slot: event.data.slot,
    executor_public_key: event.data.executor_public_key,
    assigned_at: time,
  },
  cancel: null,
});
