import { newUuid, type OrgId, type RunId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { inTurns } from '@runledger/event-log/connect/in-turns';
import type { Envelope } from '../current/core/envelope.ts';
import { isRunOf, type AskedFor } from './core/idempotency.ts';
import { runQueued, type QueueDecision } from './core/queue-run.ts';
import type { QueueBound } from './queue-bound.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';
import type { LogCapacity } from './log-capacity.ts';
import { runIdentity, type RunIdentity } from './run-identity.ts';

export type Acceptance =
  /** The broker has acknowledged it. */
  | { readonly kind: 'accepted'; readonly run_id: RunId }
  /** The same request was accepted before, under the same key; whatever became of its run. */
  | { readonly kind: 'accepted_before'; readonly run_id: RunId }
  /** Another request was accepted under the key. */
  | { readonly kind: 'key_taken' }
  | { readonly kind: 'log_nearly_full' }
  /** The organisation has as many queued runs as it may have. */
  | { readonly kind: 'queue_full' }
  /** Whether there is a run of this key. */
  | Extract<CurrentRun, { kind: 'views_away' | 'unreadable' }>;

export interface Requested {
  readonly org_id: OrgId;
  readonly user_id: string;
  /** The client's, for requests that may be sent again. */
  readonly idempotencyKey: string | undefined;
  readonly correlation_id: string;
  readonly traceparent: string | null;
}

export interface AcceptRunOptions {
  readonly log: EventLog;
  readonly current: ReadCurrentRun;
  readonly room: LogCapacity;
  readonly bound: QueueBound;
  readonly writer: Envelope['writer'];
  readonly now: () => Date;
}

type Refused<No> = Extract<QueueDecision<No>, { kind: 'refused' }>;

/**
 * The one place where runs begin. `decide` is asked only when there is no run of the request yet.
 * @throws {LogUnavailable} when the run may be stored, which the same request with the same key tells
 * @throws {EventTooLarge}
 */
export type AcceptRun = <No>(
  given: Requested,
  asked: AskedFor,
  decide: () => Promise<QueueDecision<No>>,
) => Promise<Acceptance | Refused<No>>;

export const acceptRun = ({ log, current, room, bound, writer, now }: AcceptRunOptions): AcceptRun => {
  const inTurn = inTurns();
  /** What became of an earlier request with the key; undefined for none. */
  const before = async (org_id: OrgId, identity: RunIdentity): Promise<Acceptance | undefined> => {
    if (identity.kind === 'random') return undefined;
    const { run_id, request_sha256 } = identity;
    const found = await current({ org_id, run_id });
    switch (found.kind) {
      case 'found':
        return isRunOf(found.run, request_sha256)
          ? { kind: 'accepted_before', run_id }
          : { kind: 'key_taken' };
      case 'none':
        return undefined;
      case 'views_away':
        // Only what the log has forgotten could be known to the views alone.
        return (await room.forgotNothing()) ? undefined : found;
      case 'unreadable':
        return found;
    }
  };
  const accept: AcceptRun = async (
    { org_id, idempotencyKey, correlation_id, traceparent },
    asked,
    decide,
  ) => {
    const identity = runIdentity(org_id, idempotencyKey, asked);
    const { run_id } = identity;
    const begin = async () => {
      const earlier = await before(org_id, identity);
      if (earlier) return earlier;
      const decision = await decide();
      if (decision.kind === 'refused') return decision;
      if (!(await room.hasRoom())) return { kind: 'log_nearly_full' } as const;
      const time = now().toISOString();
      const envelope = { event_id: newUuid(), run_id, org_id, time, writer, correlation_id, traceparent };
      const idempotency =
        identity.kind === 'of_key' ? { request_sha256: identity.request_sha256 } : undefined;
      const event = runQueued(decision.data, idempotency, envelope);
      const appended = await bound.within(org_id, () => append(log, event, 0));
      if (appended === 'queue_full') return { kind: 'queue_full' } as const;
      if (appended.kind === 'appended') return { kind: 'accepted', run_id } as const;
      const first = await before(org_id, identity);
      if (first) return first;
      throw new Error(
        `The new run ${run_id} is in the log already, at ${appended.head}: an id was given twice.`,
      );
    };
    // Of equal requests one begins the run, and no other is told that there is no room for it.
    const begun = await inTurn(run_id, begin);
    const mayBeElsewhere =
      begun.kind === 'refused' || begun.kind === 'log_nearly_full' || begun.kind === 'queue_full';
    return (mayBeElsewhere ? await before(org_id, identity) : undefined) ?? begun;
  };
  return accept;
};
