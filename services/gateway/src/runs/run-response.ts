import type { JsonValue } from '@runledger/contracts/json';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { gpuOf, isEnded, displayNumber, requestedStart, type Run } from '@runledger/contracts/fold/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { isLater, liveStatus, instantOf } from '@runledger/contracts/http/runs/live-status';
import {
  missingOutputs,
  endResponse,
  outputsResponse,
  type OutputUrl,
} from '@runledger/contracts/http/runs/run-response';
import type { ShowCallback, Audience } from './facts/shown-webhooks.ts';
import { webhookStatus } from '../views/stored-run.decide.ts';
import { RenderedJson } from '../door/responses.ts';
import type { RunView } from '../views/run-view.ts';

/** Members that are null unless the request includes them. `missing`: what is lost of them, and of the outputs. */
export interface IncludedMembers {
  readonly workflow_inputs: JsonValue;
  readonly workflow_api: JsonValue;
  readonly missing: readonly MissingMember[];
}

/** What a response shows in addition to the run itself. */
export interface Shown {
  /** The state of its notifications. */
  readonly webhook: Webhook | undefined;
  /** The last report of the current attempt. */
  readonly report: { readonly progress: number; readonly live_status: string | null } | undefined;
  /** The position of a queued run, if it is known. */
  readonly position: QueuePosition | undefined;
  readonly included: IncludedMembers;
  readonly outputUrl: OutputUrl;
  readonly showCallback: ShowCallback;
}

export const runResponse = (run: Run, shown: Shown): WorkflowRun => {
  const { request, attempt } = run;
  return {
    id: run.run_id,
    workflow_version_id: request.workflow_version_id,
    workflow_inputs: shown.included.workflow_inputs,
    workflow_id: request.workflow_id,
    workflow_api: shown.included.workflow_api,
    machine_id: request.machine_id,
    origin: request.origin,
    status: run.status,
    gpu_event_id: attempt?.slot_allocation_id ?? null,
    gpu: gpuOf(run),
    machine_version: request.machine_version,
    machine_type: request.machine_type,
    compute_function_call_id: attempt ? `${run.run_id}.${attempt.number}` : null,
    user_id: request.user_id,
    org_id: run.org_id,
    live_status: liveStatus(run, shown.report?.live_status ?? null, shown.position),
    webhook: request.webhook === null ? null : shown.showCallback(request.webhook),
    webhook_status: webhookStatus(run, shown.webhook),
    number: displayNumber(run),
    ...runTimes(run),
    progress: progressOf(run, shown),
    is_realtime: false,
    webhook_intermediate_status: request.webhook_intermediate_status,
    outputs: isEnded(run) ? outputsResponse(run, shown.outputUrl) : [],
    ...endResponse(run),
    queue_position: run.status === 'queued' ? queuePosition(shown.position) : null,
    priority: request.priority ?? 0,
    concurrency_key: request.concurrency_key ?? null,
    tags: [...(request.tags ?? [])],
    run_timeout_s: request.run_timeout_s,
    start_deadline_s: request.start_deadline_s,
    start_at: requestedStart(request, run.created_at),
    rerun_of: request.rerun_of,
    schedule: request.schedule ?? null,
    missing_members: [...shown.included.missing, ...missingOutputs(run, [])],
  };
};

/** A run that waits for a time is in no queue. */
const queuePosition = (position: QueuePosition | undefined): number | null =>
  position && !isLater(position) ? position.ahead + 1 : null;

const progressOf = (run: Run, { report }: Shown): number => {
  if (isEnded(run)) return run.progress;
  return run.status === 'queued' ? 0 : (report?.progress ?? 0);
};

interface RunTimes {
  readonly created_at: string;
  readonly updated_at: string;
  readonly queued_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Durations in seconds, to the millisecond; null until they are known. */
  readonly duration: number | null;
  readonly cold_start_duration: number | null;
  readonly cold_start_duration_total: number | null;
  readonly run_duration: number | null;
}

/** Times are the broker's time stamps of the facts, never those of a service's clock. */
export const runTimes = (run: Run): RunTimes => {
  const { created_at, updated_at, queued_at } = run;
  const started_at = 'started_at' in run ? run.started_at : null;
  const ended_at = isEnded(run) ? run.ended_at : null;
  return {
    created_at,
    updated_at,
    queued_at,
    started_at,
    ended_at,
    duration: seconds(created_at, ended_at),
    cold_start_duration: 'cold_start_s' in run ? run.cold_start_s : null,
    cold_start_duration_total: seconds(created_at, started_at),
    run_duration: seconds(started_at, ended_at),
  };
};

const seconds = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : (instantOf(to) - instantOf(from)) / 1000;

type ShownView = Pick<RunView, 'run' | 'webhook'>;

/**
 * Responses of runs that have ended, as they were written. Each belongs to one object of a view, and is kept as long as that is in
 * memory: a later fact makes another object, so a response is never older than the view that it is found by.
 */
export interface EndedResponses {
  readonly find: (shown: ShownView, audience: Audience) => RenderedJson | undefined;
  readonly keep: (shown: ShownView, audience: Audience, response: unknown) => RenderedJson;
}

interface Kept {
  readonly webhook: RunView['webhook'];
  readonly responses: Map<Audience, RenderedJson>;
}

export const endedResponses = (): EndedResponses => {
  const kept = new WeakMap<Run, Kept>();
  const of = ({ run, webhook }: ShownView): Kept | undefined => {
    const known = kept.get(run);
    return known?.webhook === webhook ? known : undefined;
  };
  return {
    find: (shown, audience) => of(shown)?.responses.get(audience),
    keep: (shown, audience, response) => {
      const rendered = new RenderedJson(response);
      const { responses } = of(shown) ?? { responses: new Map<Audience, RenderedJson>() };
      responses.set(audience, rendered);
      kept.set(shown.run, { webhook: shown.webhook, responses });
      return rendered;
    },
  };
};
