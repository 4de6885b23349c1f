import { describe, expect, it } from 'vitest';
import { endReasonOf, ERROR_KINDS } from '../../../src/events/run-error.ts';
import { CancelRunResponse, WorkflowRun } from '../../../src/http/runs/run.ts';
import { EndReason, RunStatus, WebhookStatus, RunAttempt } from '../../../src/http/runs/run-attempt.ts';
import { MediaItem, OutputItem } from '../../../src/http/runs/run-outputs.ts';

// Clients have these lists and names in their code: a new status would break pollers, a lost name strict readers.
describe('the schema of a run', () => {
  it('has a closed list of statuses', () => {
    expect(RunStatus.enum).toEqual([
      'not-started',
      'queued',
      'started',
      'running',
      'uploading',
      'success',
      'failed',
      'timeout',
      'cancelled',
    ]);
    expect(WebhookStatus.enum).toEqual(['not-started', 'running', 'success', 'failed']);
    expect(CancelRunResponse.properties.outcome.enum).toEqual([
      'cancelled',
      'cancellation_requested',
      'already_ended',
    ]);
  });

  it('has a closed list of end reasons', () => {
    expect(EndReason.enum).toEqual([
      'completed',
      'workflow_error',
      'executor_lost',
      'no_capacity',
      'start_deadline',
      'run_timeout',
      'storage_full',
      'cancelled_by_client',
      'cancelled_by_operator',
      'deployment_removed',
      'log_expired',
      'internal_error',
    ]);
  });

  it('has a closed list of kinds of errors, each of one end reason that is a failure', () => {
    expect(ERROR_KINDS).toEqual([
      'program_exit',
      'program_signal',
      'out_of_memory',
      'crashed',
      'setup_failed',
      'prepare_failed',
      'execution_error',
      'input_unavailable',
      'invalid_inputs',
      'invalid_output',
      'no_output',
      'output_too_large',
      'limit_exceeded',
      'not_runnable',
      'internal_error',
      'deployment_removed',
      'storage_full',
      'run_timeout',
      'start_deadline',
      'executor_lost',
      'executor_left',
      'no_capacity',
      'log_expired',
    ]);
    const failures = EndReason.enum.filter((reason) => !/^(completed|cancelled_.*)$/.test(reason));
    expect(new Set(ERROR_KINDS.map(endReasonOf))).toEqual(new Set(failures));
    // A kind with the word of an end reason is the kind of this end reason.
    for (const reason of failures.filter((word) => word !== 'workflow_error'))
      expect(ERROR_KINDS.filter((kind) => kind === reason).map(endReasonOf)).toEqual([reason]);
  });

  it('requires every member of a run and of an output', () => {
    for (const schema of [WorkflowRun, OutputItem, MediaItem, RunAttempt, CancelRunResponse]) {
      expect(schema.required).toEqual(Object.keys(schema.properties));
    }
    expect(Object.keys(WorkflowRun.properties)).toHaveLength(32 + 18);
    expect(Object.keys(OutputItem.properties)).toEqual([
      'id',
      'run_id',
      'output_id',
      'data',
      'node_meta',
      'created_at',
      'updated_at',
      'type',
      'node_id',
    ]);
    expect(Object.keys(MediaItem.properties)).toEqual([
      'url',
      'type',
      'filename',
      'is_public',
      'subfolder',
      'upload_duration',
      'content_type',
    ]);
  });
});
