import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import { isSettled } from '@runledger/contracts/fold/webhook';
import type { StoredView } from '../../../projection/core/run-view.ts';

/** What is known of a run whose beginning the log's leader does not have, read in this order. */
export interface LostRun {
  /** What the leader still has of its lifecycle, and the last message of it; 0 for nothing. */
  readonly held: 'a part' | 'nothing';
  readonly head: number;
  /** Whether the views had all that had left the log, after the leader was read. */
  readonly areViewsComplete: boolean;
  readonly view: StoredView | undefined;
  /** What the archive, the log and the view make of it together; undefined where the archive has nothing of it. */
  readonly archived: StoredView | undefined;
}

export type LostRunDecision =
  /** Neither the log nor the archive has more than the view says: what is not over in it is over with the log. */
  | {
      readonly kind: 'lost';
      readonly view: StoredView;
      readonly head: number;
      readonly held: LostRun['held'];
    }
  /** Some of its facts may be where they are not read yet, or expire soon. */
  | { readonly kind: 'wait' }
  /** The archive knows how the run ended, or its notification, and the view does not. */
  | { readonly kind: 'recover'; readonly view: StoredView };

/**
 * Whether something of a run may end because the log has lost it. Only what left the log without that anybody read or archived it may get
 * another end than the one that it had: so each place that may know the end is read first. What left the log before it was read is in complete
 * views; what came later is refused by the fence of the append.
 */
export const decideLost = ({ held, head, areViewsComplete, view, archived }: LostRun): LostRunDecision => {
  if (!areViewsComplete || !view) return { kind: 'wait' };
  // The rest may hold the end.
  if (held === 'a part' && view.head !== head) return { kind: 'wait' };
  return archived && knowsMore(archived, view)
    ? { kind: 'recover', view: archived }
    : { kind: 'lost', view, head, held };
};

/** An end of the run, of its notification, or of both. A view that is behind may be of another log, where positions say nothing. */
const knowsMore = (archived: StoredView, { run, webhook }: StoredView): boolean =>
  (isOver(archived.run) && !isOver(run)) || (isSettled(archived.webhook.state) && !isSettled(webhook.state));

const isOver = (run: RunState): boolean => isDeleted(run) || isEnded(run);
