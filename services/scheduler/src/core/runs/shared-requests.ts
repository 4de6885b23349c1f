import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { Run, RunRequest } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import { requirementsKey, requirementsOf, type Requirements } from '../slots/requirements.ts';

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
