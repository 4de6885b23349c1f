import { isDeleted, isEnded, type LeftToErase, type Run, type RunState } from '@runledger/contracts/fold/run';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/events/subjects';

/**
 * A run as it is stored for reading: everything that the log says of it up to the later of the two heads. A view whose
 * `head` is 0 comes from another log. It is derived again if the present log has the run, and goes on
 * with what follows if the log has lost it.
 */
export interface ViewOf<State extends RunState> {
  readonly head: number;
  readonly run: State;
  readonly webhook: WebhookHistory;
}
export type RunView = ViewOf<Run>;
/** That of a deleted run stays for as long as the log holds anything of the run. No list has it. */
export type StoredView = ViewOf<RunState>;

/** The view of a run that exists; undefined for a deleted one. */
export const existing = ({ run, ...view }: StoredView): RunView | undefined =>
  isDeleted(run) ? undefined : { ...view, run };

/** Of runs that have not ended. */
export const OPEN_STATUSES: readonly Run['status'][] = ['queued', 'started', 'running', 'uploading'];
export const FINAL_STATUSES: readonly Run['status'][] = ['success', 'failed', 'timeout', 'cancelled'];

export const isSameRun = (view: StoredView | undefined, key: RunKey): view is StoredView =>
  view !== undefined && view.run.org_id === key.org_id && view.run.run_id === key.run_id;

/** The sequence up to which the view is complete; 0 for a view of another log. */
export const upTo = ({ head, webhook }: StoredView): number =>
  head === 0 ? 0 : Math.max(head, webhook.head);

/** Of a deleted run, or the deleted outputs of another one: what is not erased yet; null for nothing. */
export const outputsToErase = (run: RunState): LeftToErase | null => {
  if (isDeleted(run)) return run.to_erase;
  return isEnded(run) ? (run.deleted_outputs?.to_erase ?? null) : null;
};
