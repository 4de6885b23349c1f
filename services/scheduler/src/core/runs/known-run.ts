import {
  gpuOf,
  isDeleted,
  isEnded,
  isExecuting,
  type QueuedRun,
  type Run,
  type RunRequest,
} from '@runledger/contracts/fold/run';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { OrgId } from '@runledger/contracts/ids';
import type { LiveRun, RunDecision } from '../decision.ts';
import { type Requirements, requirementsKey, requirementsOf } from '../requirements.ts';
import { runName, type RunName, type HeldSlot } from '../slot-allocation.ts';

/** Names a run in the table of runs, from when it is added until it is removed. */
export type Row = number;

/** A run that has not ended, as the scheduler knows it. */
export interface KnownRun {
  /** -1 before it is added. */
  row: Row;
  readonly name: RunName;
  readonly key: RunKey;
  readonly head: number;
  /** Its request is without what differs from run to run and no decision needs: that is read from the log when the run is assigned. */
  readonly run: LiveRun;
  readonly shared: SharedRequest;
  readonly requirements: Requirements;
  /** The event at the head; null when it has no id. */
  readonly event_id: string | null;
  /** The decision that is being appended. */
  pending: RunDecision | null;
  /** A decision was made on this head. The next one waits for another head. */
  decided: boolean;
  /** The slot that it holds, or will hold when the pending assignment is stored. */
  slot: HeldSlot | undefined;
}

const newKnownRun = (
  row: Row,
  { head, event_id, run, shared }: Pick<KnownRun, 'head' | 'event_id' | 'run' | 'shared'>,
): KnownRun => {
  const { org_id, run_id } = run;
  const key = { org_id, run_id };
  return {
    row,
    name: runName(key),
    key,
    head,
    run,
    shared,
    requirements: shared.requirements,
    event_id,
    pending: null,
    decided: false,
    slot: isExecuting(run)
      ? { executor: run.attempt.executor_id, slot: run.attempt.slot, gpu: gpuOf(run) }
      : undefined,
  };
};

/**
 * Undefined for a run that has ended: nothing is ever decided on it. `before` is what was known of the run: as a rule its request is the
 * same object.
 */
export const knownRun = (
  { head, state: run }: RunHistory,
  event_id: string | null,
  requests: SharedRequests,
  before?: KnownRun,
): KnownRun | undefined => {
  if (!run || isEnded(run) || isDeleted(run)) return undefined;
  const isKnown = before !== undefined && before.run.request === run.request;
  const shared = isKnown ? before.shared : requests.of(run);
  const request = isKnown ? run.request : requestWithKey(shared, run.request.concurrency_key);
  return newKnownRun(-1, { head, event_id, shared, run: { ...run, org_id: shared.org_id, request } });
};

/** The members that all decisions on the run have. */
export const decisionBase = ({
  key,
  head,
  event_id,
}: KnownRun): Pick<RunDecision, 'key' | 'expected' | 'causedBy'> => ({
  key,
  expected: head,
  causedBy: event_id,
});

/** What the queue needs of a run. */
export interface WaitingRun extends Pick<KnownRun, 'row' | 'shared' | 'requirements'> {
  readonly run: Pick<LiveRun, 'number' | 'request'>;
}

/** What a row says of a run that waits for its first attempt. */
export interface PlainRun extends Pick<
  QueuedRun,
  'run_id' | 'number' | 'correlation_id' | 'traceparent' | 'created_at' | 'not_before'
> {
  readonly event_id: string | null;
  readonly shared: SharedRequest;
  readonly concurrency_key: string | undefined;
}

/** The members of a plain run; the compiler says when there is another one. */
const plainRun = ({
  run_id,
  number,
  correlation_id,
  traceparent,
  created_at,
  shared,
  concurrency_key,
  not_before,
}: PlainRun): Required<Omit<QueuedRun, keyof typeof UNSET>> => ({
  status: 'queued',
  org_id: shared.org_id,
  run_id,
  number,
  request: requestWithKey(shared, concurrency_key),
  correlation_id,
  traceparent,
  created_at,
  queued_at: created_at,
  updated_at: created_at,
  output_bytes: 0,
  earlier_attempts: [],
  not_before,
  attempt: null,
});

/** Members that a plain run does not have. */
const UNSET = { log_blob: undefined } as const;

export const knownPlainRun = (row: Row, plain: PlainRun): KnownRun =>
  newKnownRun(row, {
    head: plain.number,
    event_id: plain.event_id,
    run: plainRun(plain),
    shared: plain.shared,
  });

/** Whether nothing has happened to the run since it was queued, so that a row says everything about it. */
export const isPlain = ({ head, run }: KnownRun): boolean =>
  run.status === 'queued' &&
  head === run.number &&
  run.attempt === null &&
  run.output_bytes === 0 &&
  run.earlier_attempts.length === 0 &&
  run.log_blob === undefined &&
  run.queued_at === run.created_at &&
  run.updated_at === run.created_at;

/** What decisions need of a request. Equal requests are one object, since most queued runs are of few deployments. */
export interface SharedRequest {
  readonly org_id: OrgId;
  /** Without inputs, webhook, tags, start and idempotency, which differ from run to run and which no decision needs, and without the concurrency key. */
  readonly request: RunRequest;
  readonly requirements: Requirements;
  /** Equal for runs of a deployment that wait in one line: with equal requirements, limits and priorities, and all with a concurrency key or none. */
  readonly line: string;
  /** Whether each of these runs has a concurrency key. */
  readonly hasKey: boolean;
}

/** Requests beyond this number are equal, but not the same object. */
const MAX_SHARED = 10_000;

/** Keeps one object for equal requests: a million queued runs then fit into the memory of a process. */
export class SharedRequests {
  readonly #shared = new LRUCache<string, SharedRequest>(atMost(MAX_SHARED));

  of({ org_id, request: whole }: Pick<Run, 'org_id' | 'request'>): SharedRequest {
    const request: RunRequest = { ...whole, inputs: {}, inputs_blob: null, webhook: null };
    delete request.idempotency;
    delete request.tags;
    delete request.delay_s;
    delete request.start_at;
    delete request.concurrency_key;
    const hasKey = whole.concurrency_key !== undefined;
    const name = JSON.stringify([org_id, hasKey, request]);
    const shared = this.#shared.get(name) ?? sharedRequest(org_id, request, hasKey);
    this.#shared.set(name, shared);
    return shared;
  }
}

/** The request of one run. */
export const requestWithKey = (
  { request }: Pick<SharedRequest, 'request'>,
  concurrency_key: string | undefined,
): RunRequest => (concurrency_key === undefined ? request : { ...request, concurrency_key });

const sharedRequest = (org_id: OrgId, request: RunRequest, hasKey: boolean): SharedRequest => {
  const requirements = requirementsOf({ org_id, request });
  const { priority, concurrency_limit } = request;
  const line = JSON.stringify([priority, concurrency_limit, hasKey, requirementsKey(requirements)]);
  return { org_id, request, requirements, line, hasKey };
};
