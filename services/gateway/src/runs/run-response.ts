import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { readJsonBlob, type ReadJsonBlob } from '@runledger/blob-store/json-blob';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import { isJsonObject, jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { Kit } from '../kit.ts';
import { withoutSecrets } from './facts/input-secrets.ts';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { gpuOf, isEnded, displayNumber, requestedStart, type Run } from '@runledger/contracts/fold/run';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { LiveState } from './queue-positions.ts';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { isLater, liveStatus, instantOf } from '@runledger/contracts/http/runs/live-status';
import {
  missingOutputs,
  endResponse,
  outputsResponse,
  type OutputUrl,
} from '@runledger/contracts/http/runs/run-response';
import { withoutPath } from '@runledger/contracts/deliveries/delivery-attempts';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { allows } from '@runledger/contracts/scopes';
import { webhookStatus } from '../views/stored-run.decide.ts';
import { RenderedJson } from '../door/responses.ts';
import type { ColdStartParts } from '@runledger/contracts/events/run-event-data';
import type { RunView } from '../views/run-view.ts';

/** A callback URL as a caller sees it. */
export type ShowCallback = (url: string) => string;

/** An admin sees the whole address. */
export type Audience = 'admins' | 'others';

export const audienceOf = (scopes: readonly KeyScope[]): Audience =>
  allows(scopes, 'admin') ? 'admins' : 'others';

/** What follows the host may be a secret: whoever has it can post to the receiver. Only an admin sees it. */
export const showCallback = (scopes: readonly KeyScope[]): ShowCallback => callbackFor(audienceOf(scopes));

export const callbackFor = (audience: Audience): ShowCallback =>
  audience === 'admins' ? (url) => url : withoutPath;

/** Members that are null unless the request includes them. `missing`: what is lost of them, and of the outputs. */
interface IncludedMembers {
  readonly workflow_inputs: JsonValue;
  readonly workflow_api: JsonValue;
  readonly missing: readonly MissingMember[];
}

/** How a client sees runs. */
interface Presentation {
  readonly outputUrl: OutputUrl;
  readonly showCallback: ShowCallback;
}

/** What a response has beside the run itself. */
export interface ResponseContext extends LiveState, Presentation {
  /** The state of its notifications. */
  readonly webhook: Webhook | undefined;
  readonly included: IncludedMembers;
}

/** The response for a run, with what blobs have of it: a long list of outputs, and what the request includes. @throws {LogUnavailable} */
export const readResponse = async (
  lists: OutputLists,
  { run: known, webhook }: { readonly run: Run; readonly webhook: Webhook | undefined },
  readIncluded: ReadIncluded,
  context: LiveState & Presentation,
): Promise<{ readonly response: WorkflowRun; readonly bytes: number }> => {
  const [{ run, missing }, members] = await Promise.all([lists.ofRun(known), readIncluded(known)]);
  const included = { ...members, missing: [...members.missing, ...missing] };
  const bytes = members.bytes + (isEnded(known) ? (known.outputs_blob?.bytes ?? 0) : 0);
  return { response: runResponse(run, { ...context, webhook, included }), bytes };
};

export const runResponse = (run: Run, context: ResponseContext): WorkflowRun => {
  const { request, attempt } = run;
  return {
    id: run.run_id,
    workflow_version_id: request.workflow_version_id,
    workflow_inputs: context.included.workflow_inputs,
    workflow_id: request.workflow_id,
    workflow_api: context.included.workflow_api,
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
    live_status: liveStatus(run, context.report?.live_status ?? null, context.position),
    webhook: request.webhook === null ? null : context.showCallback(request.webhook),
    webhook_status: webhookStatus(run, context.webhook),
    number: displayNumber(run),
    ...runTimes(run),
    progress: progressOf(run, context),
    code_sha256: 'started_at' in run ? (run.code_sha256 ?? null) : null,
    environment_sha256: 'started_at' in run ? (run.environment_sha256 ?? null) : null,
    is_realtime: false,
    webhook_intermediate_status: request.webhook_intermediate_status,
    outputs: isEnded(run) ? outputsResponse(run, context.outputUrl) : [],
    ...endResponse(run),
    queue_position: run.status === 'queued' ? queuePosition(context.position) : null,
    priority: request.priority ?? 0,
    concurrency_key: request.concurrency_key ?? null,
    tags: [...(request.tags ?? [])],
    run_timeout_s: request.run_timeout_s,
    start_deadline_s: request.start_deadline_s,
    start_at: requestedStart(request, run.created_at),
    rerun_of: request.rerun_of,
    schedule: request.schedule ?? null,
    missing_members: [...context.included.missing, ...missingOutputs(run, [])],
  };
};

/** A run that waits for a time is in no queue. */
const queuePosition = (position: QueuePosition | undefined): number | null =>
  position && !isLater(position) ? position.ahead + 1 : null;

const progressOf = (run: Run, { report }: ResponseContext): number => {
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
  /** Their sum is the one above, but for rounding. */
  readonly cold_start_parts: ColdStartParts | null;
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
    cold_start_parts: coldStartParts(run),
    cold_start_duration_total: seconds(created_at, started_at),
    run_duration: seconds(started_at, ended_at),
  };
};

const coldStartParts = (run: Run): ColdStartParts | null => {
  if (!('cold_start_s' in run) || run.cold_start_s === null) return null;
  return run.cold_start_parts_s ?? { fetch: 0, environment: 0, weights: 0, load: run.cold_start_s };
};

const seconds = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : (instantOf(to) - instantOf(from)) / 1000;

/**
 * Responses of runs that have ended, as they were written. Each belongs to one object of a view, and is kept as long as that is in
 * memory: a later fact makes another object, so a response is never older than the view that it is found by.
 */
export class EndedResponses {
  readonly #responses = new WeakMap<Run, { webhook: RunView['webhook']; of: Map<Audience, RenderedJson> }>();

  find({ run, webhook }: RunView, audience: Audience): RenderedJson | undefined {
    const known = this.#responses.get(run);
    return known?.webhook === webhook ? known.of.get(audience) : undefined;
  }

  keep({ run, webhook }: RunView, audience: Audience, response: unknown): RenderedJson {
    const rendered = new RenderedJson(response);
    const known = this.#responses.get(run);
    if (known?.webhook === webhook) known.of.set(audience, rendered);
    else this.#responses.set(run, { webhook, of: new Map([[audience, rendered]]) });
    return rendered;
  }
}

/** The included members of a run, and how many bytes they have as JSON. @throws {LogUnavailable} */
export type ReadIncluded = (run: Run) => Promise<IncludedMembers & { readonly bytes: number }>;

/** Nothing is included. */
export const NO_MEMBERS: ReadIncluded = async () => ({
  workflow_inputs: null,
  workflow_api: null,
  missing: [],
  bytes: 0,
});

interface Member {
  readonly value: JsonValue;
  readonly bytes: number;
  readonly missing: MissingMember['reason'] | undefined;
}

const NOT_INCLUDED: Member = { value: null, bytes: 0, missing: undefined };

/** Reads what the request includes of the runs of one response, which share what they have in common: each blob is read once. */
export const openIncluded = (
  { stores, logger }: Kit,
  include: readonly ('inputs' | 'workflow_api')[] = [],
): ReadIncluded => {
  const begun = new Map<string, Promise<ReadJsonBlob>>();
  const read = async (of: keyof BlobStores, { org_id, run_id }: Run, sha256: string): Promise<Member> => {
    const key = `${of} ${sha256}`;
    const reading = begun.get(key) ?? readJsonBlob(stores[of], org_id, sha256);
    begun.set(key, reading);
    const found = await reading;
    if (found.kind === 'found') return { ...found, missing: undefined };
    const why = found.kind === 'damaged' ? { err: found.error } : {};
    logger.warn({ run_id, of, sha256, ...why }, `a blob of a run is ${found.kind}`);
    return { ...NOT_INCLUDED, missing: found.kind };
  };
  const inputsOf = async (run: Run): Promise<Member> => {
    const inputs = readInlineOrBlob(run.request.inputs, run.request.inputs_blob);
    if (inputs.kind === 'inline')
      return { value: visibleInputs(run, inputs.value), bytes: jsonBytes(inputs.value), missing: undefined };
    const member = await read('blobs', run, inputs.ref.sha256);
    return { ...member, value: visibleInputs(run, member.value) };
  };
  return async (run) => {
    const [inputs, workflow] = await Promise.all([
      include.includes('inputs') ? inputsOf(run) : NOT_INCLUDED,
      include.includes('workflow_api') ? read('workflows', run, run.request.workflow_sha256) : NOT_INCLUDED,
    ]);
    return {
      workflow_inputs: inputs.value,
      workflow_api: workflow.value,
      missing: [...missing('workflow_inputs', inputs), ...missing('workflow_api', workflow)],
      bytes: inputs.bytes + workflow.bytes,
    };
  };
};

const visibleInputs = ({ request: { secret_inputs } }: Run, inputs: JsonValue): JsonValue =>
  // The only inputs that are no object are those that are lost.
  secret_inputs && isJsonObject(inputs) ? withoutSecrets(inputs, secret_inputs) : inputs;

const missing = (member: MissingMember['member'], { missing: reason }: Member): MissingMember[] =>
  reason === undefined ? [] : [{ member, reason }];
