import type { JsonValue } from '@runledger/contracts/json';
import { isEnded, type EndReason, type Run } from '@runledger/contracts/run';
import type { RunOrigin } from '@runledger/contracts/event-data';
import type { Webhook } from '@runledger/contracts/webhook';
import { liveStatus } from '@runledger/contracts/live-status';
import { shownOutputs, type OutputItem } from '@runledger/contracts/shown-outputs';
import { runTimes, type RunTimes } from './run-times.ts';
import { webhookStatus, type WebhookStatus } from './webhook-status.ts';

/** The 32 fields of the run API, section 2.1, and four of ours. None is ever left out. */
export interface RunResponse extends RunTimes {
  readonly id: string;
  readonly workflow_version_id: string;
  readonly workflow_inputs: JsonValue;
  readonly workflow_id: string;
  readonly workflow_api: JsonValue;
  readonly machine_id: string;
  readonly origin: RunOrigin;
  readonly status: Run['status'];
  readonly gpu_event_id: string | null;
  readonly gpu: string;
  readonly machine_version: string;
  readonly machine_type: string;
  readonly compute_function_call_id: string | null;
  readonly user_id: string;
  readonly org_id: string;
  readonly live_status: string | null;
  readonly webhook: string | null;
  readonly webhook_status: WebhookStatus | null;
  readonly number: number;
  /** 0 to 1. */
  readonly progress: number;
  readonly is_realtime: boolean;
  readonly webhook_intermediate_status: boolean;
  readonly outputs: readonly OutputItem[];
  /** No further status will follow. */
  readonly finished: boolean;
  readonly end_reason: EndReason | null;
  readonly queue_position: number | null;
  readonly rerun_of: string | null;
}

/** What stands beside the run itself. */
export interface Shown {
  /** What became of its notifications. */
  readonly webhook: Webhook | undefined;
  /** The last report of the attempt under way. */
  readonly report: { readonly progress: number; readonly live_status: string | null } | undefined;
  /** Null unless the client asked for them. */
  readonly workflow_inputs: JsonValue;
  readonly workflow_api: JsonValue;
  readonly publicUrl: string;
}

export const runResponse = (run: Run, shown: Shown): RunResponse => {
  const { request, attempt } = run;
  return {
    id: run.run_id,
    workflow_version_id: request.workflow_version_id,
    workflow_inputs: shown.workflow_inputs,
    workflow_id: request.workflow_id,
    workflow_api: shown.workflow_api,
    machine_id: request.machine_id,
    origin: request.origin,
    status: run.status,
    gpu_event_id: attempt?.occupancy_id ?? null,
    gpu: request.gpu,
    machine_version: request.machine_version,
    machine_type: request.machine_type,
    compute_function_call_id: attempt ? `${run.run_id}.${attempt.number}` : null,
    user_id: request.user_id,
    org_id: run.org_id,
    live_status: liveStatus(run, shown.report?.live_status ?? null),
    webhook: request.webhook,
    webhook_status: webhookStatus(run, shown.webhook),
    number: run.number,
    ...runTimes(run),
    progress: progressOf(run, shown),
    is_realtime: false,
    webhook_intermediate_status: request.webhook_intermediate_status,
    outputs: isEnded(run) ? shownOutputs(run, shown.publicUrl) : [],
    finished: isEnded(run),
    end_reason: isEnded(run) ? run.end_reason : null,
    queue_position: null,
    rerun_of: request.rerun_of,
  };
};

const progressOf = (run: Run, { report }: Shown): number => {
  if (isEnded(run)) return run.progress;
  return run.status === 'queued' ? 0 : (report?.progress ?? 0);
};
