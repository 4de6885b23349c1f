import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/**
 * A run as it is stored for reading: everything that the log says of it up to the later of the two heads. A view whose
 * `head` is 0 comes from another log. It is derived again if the present log has the run.
 */
export interface RunView {
  readonly head: number;
  readonly run: Run;
  readonly webhook: WebhookHistory;
}

/** Of runs that have not ended. */
export const OPEN_STATUSES: readonly Run['status'][] = ['queued', 'started', 'running', 'uploading'];

export const isSameRun = (view: RunView | undefined, key: RunKey): view is RunView =>
  view !== undefined && view.run.org_id === key.org_id && view.run.run_id === key.run_id;

/** The sequence up to which the view is complete; 0 for a view of another log. */
export const upTo = ({ head, webhook }: RunView): number => (head === 0 ? 0 : Math.max(head, webhook.head));

/** No later message of the run can change the view, so it needs no comparison with the log. */
export const isSettledForGood = ({ run }: RunView): boolean => isEnded(run) && run.request.webhook === null;
