import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import { isEnded } from '@runledger/contracts/fold/run';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import { head as headOf } from '@runledger/event-log/read/read-run';
import type { LogCapacity } from './log-capacity.ts';
import type { Kit } from '../../kit.ts';
import type { CurrentRun, ReadCurrentRun } from './current-run.ts';
import { deletion, type Deletable, type DeletedBy, type DeletionRefusal } from './delete.decide.ts';

type DeletionResult =
  | { readonly kind: 'deleted' }
  /** The outputs were deleted before. */
  | { readonly kind: 'already_deleted' }
  | { readonly kind: 'refused'; readonly because: DeletionRefusal }
  /** The run changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | { readonly kind: 'log_nearly_full' }
  /** A run that was deleted before is `deleted_before`. */
  | { readonly kind: 'deleted_before' }
  | Exclude<CurrentRun, { kind: 'found' | 'deleted' }>;

/** @throws {LogUnavailable} */
export type DeleteRun = (
  what: Deletable,
  key: RunKey,
  by: DeletedBy & { readonly traceparent: string | null },
) => Promise<DeletionResult>;

/**
 * Stores that a client deletes a run, or its outputs. No read of any gateway shows them from then on; the gateway that projects
 * erases the files. The run may be older than the log: then its view decides, and the fact follows what the log still has.
 */
export const deleteRun =
  (
    { log, writer, now, metrics }: Kit,
    current: ReadCurrentRun,
    lists: OutputLists,
    capacity: LogCapacity,
  ): DeleteRun =>
  async (what, key, { traceparent, ...by }) => {
    const store = () =>
      decideAndAppend<Known, DeletionResult>(log, {
        read: async () => {
          const head = await headOf(log, key);
          const found = await current(key);
          const isListed = found.kind === 'found' && isEnded(found.run);
          return { head, found, listed: isListed ? await lists.listed(key.org_id, found.run) : [] };
        },
        decide: ({ head, found, listed }) => {
          if (found.kind === 'deleted') return answer({ kind: 'deleted_before' });
          if (found.kind !== 'found') return answer(found);
          // What the view lacks has expired in part, and may expire before it is read.
          if (found.head < head) return answer(BEHIND);
          const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
          const decision = deletion(what, found.run, { webhook: found.webhook.state, listed }, by, envelope);
          switch (decision.kind) {
            case 'refused':
              return answer(decision);
            case 'nothing_to_do':
              return answer({ kind: 'already_deleted' });
            case 'append':
              return { ...decision, expected: head, answer: { kind: 'deleted' } };
          }
        },
        onConflict: metrics.conflict,
      });
    const decided = await capacity.within(store);
    if (decided === 'log_nearly_full') return { kind: 'log_nearly_full' };
    return decided.kind === 'too_busy' ? { kind: 'too_busy' } : decided.answer;
  };

interface Known {
  /** Of the run's lifecycle in the log; 0 when the log holds nothing of it. */
  readonly head: number;
  readonly found: CurrentRun;
  readonly listed: readonly RunOutput[];
}

const answer = (result: DeletionResult): Decision<DeletionResult> => ({ kind: 'answer', answer: result });

const BEHIND = {
  kind: 'unreadable',
  why: 'the log no longer holds its beginning, and its view is behind',
} as const;
