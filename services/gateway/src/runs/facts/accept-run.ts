import { hash } from 'node:crypto';
import { BlobDamaged, BlobStoreFull } from '@runledger/blob-store/blob-store';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { newUuid, runId, type OrgId, type RunId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { keyedMutex } from '@runledger/resilience/keyed-mutex';
import type { UnknownInput } from './check-inputs.ts';
import type { Kit } from '../../kit.ts';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';
import type { Quotas } from '../../records/quotas/quotas.ts';
import type { LogCapacity } from './log-capacity.ts';
import { tooLongLife } from '../../records/catalogue/deployment-rules.decide.ts';
import type { InputSecrets } from './input-secrets.ts';
import type { LongestRun } from '../../records/catalogue/record-answers.ts';
import {
  maxInlineInputs,
  runQueued,
  identityText,
  requestText,
  scheduledIdentityText,
  type RequestedRun,
  type StoredInputs,
  type NewRun,
  type NotQueued,
  type Queued,
  type ScheduledTime,
} from './queue-run.decide.ts';
import { delayOf } from './request-bounds.decide.ts';
import type { RunNumbers } from '../../records/run-numbers.ts';
import type { CurrentRun, IsNewRun, ReadCurrentRun } from './current-run.ts';
import { uuid8 } from '@runledger/contracts/ids';

export type Acceptance =
  /** The broker has acknowledged it. */
  | { readonly kind: 'accepted'; readonly run_id: RunId }
  /** The same request was accepted before, with the same key. Its run may be in any state. */
  | { readonly kind: 'accepted_before'; readonly run_id: RunId }
  /** Another request was accepted with this key. */
  | { readonly kind: 'key_taken' }
  /** A run was accepted with this key, and was deleted. */
  | { readonly kind: 'key_of_deleted_run' }
  | { readonly kind: 'log_nearly_full' }
  /** Its facts could expire before it ends. */
  | { readonly kind: 'outlives_log'; readonly why: string }
  /** The organisation has reached its limit of queued runs. */
  | { readonly kind: 'queue_full' }
  /** The run that it repeats has no inputs any more, and the request has none. */
  | { readonly kind: 'inputs_gone' }
  /** The store of large inputs is full. */
  | { readonly kind: 'inputs_store_full' }
  /** With the defaults of its version its inputs are too large. */
  | { readonly kind: 'inputs_too_large'; readonly limit: number }
  /** With its inputs the organisation would have more bytes in that store than it may have. */
  | { readonly kind: 'inputs_over_quota'; readonly limit: number }
  /** Whether the key was used cannot be known now. */
  | Extract<CurrentRun, { kind: 'views_unavailable' | 'unreadable' }>;

export interface QueueCaller {
  readonly org_id: OrgId;
  readonly user_id: string;
  /** From the client, for requests that it may repeat. */
  readonly idempotencyKey: string | undefined;
  readonly correlation_id: string;
  readonly traceparent: string | null;
  /** Takes the names of inputs that the version does not define, before the run is stored. */
  readonly onUnknownInputs?: (unknown: readonly UnknownInput[]) => void;
}

/** What decides whether there is room for a run, and who it is. */
export interface Acceptors {
  readonly current: ReadCurrentRun;
  readonly isNew: IsNewRun;
  readonly longestRun: LongestRun;
  readonly capacity: LogCapacity;
  readonly quotas: Quotas;
  readonly numbers: RunNumbers;
  readonly secrets: InputSecrets;
}

/**
 * Every run begins here. `decide` is only called when the request has no run yet.
 * @throws {LogUnavailable} when the run may or may not be stored; repeat the request with its key to find out
 * @throws {EventTooLarge}
 */
export type AcceptRun = <No extends NotQueued<unknown>>(
  caller: QueueCaller,
  requested: RequestedRun,
  decide: () => Promise<Queued | No>,
) => Promise<Acceptance | No>;

export const acceptRun = (kit: Kit, acceptors: Acceptors): AcceptRun => {
  const inTurn = keyedMutex();
  const earlier = earlierAcceptance(acceptors);
  const accept: AcceptRun = async (caller, requested, decide) => {
    const { org_id } = caller;
    const identity = runIdentity(org_id, caller.idempotencyKey, requested);
    const { run_id } = identity;
    const beginOnce = async () => {
      // The log refuses the first fact of a run that it has, and then it is looked for.
      const isNew = identity.kind === 'random' || (await acceptors.isNew({ org_id, run_id }));
      const present = isNew ? undefined : await earlier(org_id, identity);
      if (present) return present;
      const decision = await decide();
      if (decision.kind === 'refused') return decision;
      const begun = await begin(kit, acceptors, caller, identity, decision.run);

      if (begun.kind !== 'exists') return begun;
      const first = await earlier(org_id, identity);
      if (first) return first;
      throw new Error(`The id ${run_id} of a new run is in the log already, at ${begun.head}.`);
    };
    // Nobody else requests a random id.
    if (identity.kind === 'random') return beginOnce();
    // Equal requests run one after the other: one begins the run, and none is refused for a run that another one began.
    const begun = await inTurn(run_id, beginOnce);
    // Another gateway may have accepted it meanwhile.
    return (NOT_BEGUN.has(begun.kind) ? await earlier(org_id, identity) : undefined) ?? begun;
  };
  return async (...request) => {
    const acceptance = await accept(...request);
    const { kind } = acceptance;
    if (kind !== 'accepted' && kind !== 'accepted_before' && kind !== 'refused') kit.metrics.notQueued(kind);
    return acceptance;
  };
};

const NOT_BEGUN: ReadonlySet<string> = new Set([
  'refused',
  'log_nearly_full',
  'queue_full',
  'inputs_gone',
  'inputs_store_full',
  'inputs_too_large',
  'inputs_over_quota',
]);

type EarlierAcceptance = (org_id: OrgId, identity: RunIdentity) => Promise<Acceptance | undefined>;

/** The acceptance of an earlier request with the key; undefined for none. */
const earlierAcceptance =
  ({ current, capacity, secrets }: Acceptors): EarlierAcceptance =>
  async (org_id, identity) => {
    if (identity.kind === 'random') return undefined;
    const { run_id } = identity;
    const found = await current({ org_id, run_id });
    switch (found.kind) {
      case 'found':
        return identity.kind === 'of_schedule' || secrets.isRunOf(found.run, identity.request_sha256)
          ? { kind: 'accepted_before', run_id }
          : { kind: 'key_taken' };
      case 'none':
        return undefined;
      case 'deleted':
        return { kind: 'key_of_deleted_run' };
      case 'views_unavailable':
        // Only a run that has expired from the log could be in the views alone.
        return (await capacity.hasEverything()) ? undefined : found;
      case 'unreadable':
        return found;
    }
  };

/** With it a fact is the largest. */
const LARGEST_NUMBER = Number.MAX_SAFE_INTEGER;

/** Stores the first event of the run, if there is room for it. Inputs that are too large for it are stored before. */
const begin = async (
  kit: Kit,
  { secrets, longestRun, capacity, quotas, numbers }: Acceptors,
  { org_id, correlation_id, traceparent }: QueueCaller,
  identity: RunIdentity,
  run: NewRun,
): Promise<Acceptance | { readonly kind: 'exists'; readonly head: number }> => {
  const { log, stores, writer, now } = kit;
  const { max_attempts: attempts, retry_on: on } = run.settings;
  const retry = { attempts, ...(on && { on }) };
  const requestedAt = now();
  const delay_s = delayOf(run.settings, requestedAt.getTime());
  const why = tooLongLife({ ...run.settings, retry, delay_s }, await longestRun());
  if (why !== undefined) return { kind: 'outlives_log', why };
  const { run_id } = identity;
  const time = requestedAt.toISOString();
  const envelope = { event_id: newUuid(), run_id, org_id, time, writer, correlation_id, traceparent };
  const idempotency =
    identity.kind === 'of_key'
      ? { request_sha256: secrets.hashOf(org_id, run, identity.request_sha256) }
      : undefined;
  const firstFact = (inputs: StoredInputs, number: number): RunEventOf<'RunQueued'> =>
    runQueued({ ...run.settings, ...inputs }, number, idempotency, envelope);
  const store = async () => {
    const maxInlineBytes = maxInlineInputs(firstFact({ inputs: null, inputs_blob: null }, LARGEST_NUMBER));
    const stored = await storeInputs(kit, quotas.blob_bytes, org_id, run.inputs, maxInlineBytes);
    if (stored.kind !== 'stored') return stored;
    // It is only taken for a fact that is appended at once, so that few are left out.
    const number = await numbers.next(org_id);
    const appended = await append(log, firstFact(stored.inputs, number), 0);
    // A run with equal inputs may have been deleted meanwhile.
    if (stored.blob && appended.kind === 'appended') await stores.blobs.confirm(org_id, stored.blob);
    return appended;
  };
  const appended = await capacity.within(() => quotas.queued_runs.within(org_id, 1, store));
  if (appended === 'log_nearly_full') return { kind: 'log_nearly_full' };
  if (appended === 'over_quota') return { kind: 'queue_full' };
  switch (appended.kind) {
    case 'appended':
      return { kind: 'accepted', run_id };
    case 'conflict':
      return { kind: 'exists', head: appended.head };
    case 'inputs_gone':
    case 'inputs_store_full':
    case 'inputs_too_large':
    case 'inputs_over_quota':
      return appended;
  }
};

/** `blob`: the bytes of inputs that became a blob. */
type StoreInputs =
  | { readonly kind: 'stored'; readonly inputs: StoredInputs; readonly blob?: Uint8Array }
  | Extract<
      Acceptance,
      { kind: 'inputs_gone' | 'inputs_store_full' | 'inputs_too_large' | 'inputs_over_quota' }
    >;

/**
 * Small inputs stay in the first fact of a run. Larger ones become a blob, which is stored before the fact; a blob whose fact is
 * never stored is erased after an hour. @throws {LogUnavailable}
 */
const storeInputs = async (
  { config, logger, stores: { blobs } }: Kit,
  quota: BlobQuota,
  org_id: OrgId,
  inputs: NewRun['inputs'],
  /** The largest inputs, as JSON, that the first fact of the run has room for. */
  maxInlineBytes: number,
): Promise<StoreInputs> => {
  try {
    const bytes =
      inputs.kind === 'blob' ? await blobs.get(org_id, inputs.ref.sha256) : jsonBlob(inputs.value);
    if (!bytes) return { kind: 'inputs_gone' };
    if (inputs.kind === 'inline') {
      const limit = config.RUNLEDGER_INPUTS_MAX_BYTES;
      if (bytes.byteLength > limit) return { kind: 'inputs_too_large', limit };
      if (bytes.byteLength <= maxInlineBytes)
        return { kind: 'stored', inputs: { inputs: inputs.value, inputs_blob: null } };
    }
    const ref = await quota.put(org_id, bytes);
    return ref === 'over_quota'
      ? { kind: 'inputs_over_quota', limit: quota.limit }
      : { kind: 'stored', inputs: { inputs: null, inputs_blob: ref }, blob: bytes };
  } catch (error) {
    if (error instanceof BlobStoreFull) {
      logger.error({ err: error, org_id }, 'the inputs of a run do not fit into their store');
      return { kind: 'inputs_store_full' };
    }
    if (!(error instanceof BlobDamaged)) throw error;
    logger.error({ err: error, org_id }, 'the inputs of a run that is run again are damaged');
    return { kind: 'inputs_gone' };
  }
};

type RunIdentity =
  | { readonly kind: 'random'; readonly run_id: RunId }
  /** Of a time of a schedule, whatever the schedule requests then. */
  | { readonly kind: 'of_schedule'; readonly run_id: RunId }
  /** The same at every gateway for every request with the key. */
  | { readonly kind: 'of_key'; readonly run_id: RunId; readonly request_sha256: string };

/** The id of the run that a request asks for. With an idempotency key, it is made from the key. */
export const runIdentity = (org_id: OrgId, key: string | undefined, requested: RequestedRun): RunIdentity => {
  if (requested.kind === 'schedule')
    return { kind: 'of_schedule', run_id: runIdOfSchedule(org_id, requested.schedule) };
  if (key === undefined) return { kind: 'random', run_id: runId(newUuid()) };
  const request_sha256 = hash('sha256', requestText(requested));
  return { kind: 'of_key', run_id: runIdOfKey(org_id, key), request_sha256 };
};

/** The id of the run of a time of a schedule. No client's key makes it. */
export const runIdOfSchedule = (org_id: OrgId, time: ScheduledTime): RunId =>
  runId(uuid8(sha256(scheduledIdentityText(org_id, time))));

/** The id of the run that a request with this idempotency key queues. */
export const runIdOfKey = (org_id: OrgId, key: string): RunId =>
  runId(uuid8(sha256(identityText(org_id, key))));

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');
