import type { RunEvent } from '@runledger/contracts/events/run-event';
import { newUuid, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** What the gateway and the scheduler tell of one run, so that an executor gets it. */
export type ARun = RunKey & {
  queued: RunEvent;
  assigned: RunEvent;
  cancelRequested: RunEvent;
  requeued: RunEvent;
};

const sha256 = 'a'.repeat(64);

export type AssignedTo = { executor: ExecutorId; publicKey: string; program: string; inputs?: object };

export const aRun = ({ executor, publicKey, program, inputs = {} }: AssignedTo): ARun => {
  const key = { org_id: orgId(newUuid()), run_id: runId(newUuid()) };
  const runner = { kind: 'program', program };
  const event = (type: string, attempt: number, data: object): RunEvent => {
    const parsed = parseRunEvent({
      type,
      version: 1,
      event_id: newUuid(),
      ...key,
      time: new Date().toISOString(),
      writer: { service: 'a test', instance: 'one' },
      attempt,
      executor_id: attempt === 0 ? null : executor,
      correlation_id: 'request-1',
      causation_id: null,
      traceparent: null,
      data,
    });
    if (parsed.kind !== 'event') throw new Error(JSON.stringify(parsed));
    return parsed.event;
  };
  return {
    ...key,
    queued: event('RunQueued', 0, {
      user_id: newUuid(),
      origin: 'api',
      deployment_id: newUuid(),
      workflow_id: newUuid(),
      workflow_version_id: newUuid(),
      workflow_sha256: sha256,
      machine_id: newUuid(),
      machine_name: 'a10g',
      machine_type: 'program',
      machine_version: '1',
      runner,
      gpu: 'A10G',
      inputs,
      webhook: null,
      webhook_intermediate_status: false,
      start_deadline_s: 3600,
      run_timeout_s: 3600,
      max_attempts: 3,
      rerun_of: null,
    }),
    assigned: event('RunAssigned', 1, {
      occupancy_id: newUuid(),
      slot: 0,
      gpu: 'A10G',
      runner,
      workflow_version_id: newUuid(),
      workflow_sha256: sha256,
      workflow: { kind: 'test' },
      inputs,
      run_timeout_s: 3600,
      executor_public_key: publicKey,
    }),
    cancelRequested: event('RunCancelRequested', 1, { by: 'client', user_id: null }),
    requeued: event('RunRequeued', 1, { reason: 'executor_lost', message: 'no beat for 6 s' }),
  };
};
