import { viewText } from '@runledger/contracts/run-view/view-text';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { outputsToErase, type StoredView } from '../../core/run-view.ts';
import type { JoinedViews } from './join-views.ts';

export type ComparedViews =
  /** Both have the same facts of the run, and say this of it. */
  | { readonly kind: 'same_facts'; readonly live: string; readonly next: string }
  /** One of them has facts that the other one does not have yet, or no longer. */
  | { readonly kind: 'moved' };

export const compareViews = ({ live, next }: JoinedViews): ComparedViews =>
  live && next && isOfSameFacts(live, next)
    ? { kind: 'same_facts', live: textOf(live), next: textOf(next) }
    : { kind: 'moved' };

const isOfSameFacts = (one: StoredView, other: StoredView): boolean =>
  one.run.org_id === other.run.org_id && one.head === other.head && one.webhook.head === other.webhook.head;

const textOf = ({ head, run, webhook }: StoredView): string =>
  `${run.run_id} ${head} ${webhook.head} ${viewText(run, webhook.state)}\n`;

export const keyOf = ({ run: { org_id, run_id } }: StoredView): RunKey => ({ org_id, run_id });

/** Of equal views: what was erased is in no fact, so the next set begins with all of it. */
export const hasErasedMore = (live: StoredView, next: StoredView): boolean =>
  outputsToErase(live.run) === null && outputsToErase(next.run) !== null;
