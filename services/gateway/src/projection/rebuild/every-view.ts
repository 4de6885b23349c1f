import type { StoredView } from '../core/run-view.ts';
import type { RunViews } from '../run-views.ts';

/** A page of views takes a process some milliseconds. */
export const VIEWS_AT_ONCE = 500;

/** All of a set, in the order of run ids. */
export async function* everyView(set: Pick<RunViews, 'listAll'>): AsyncGenerator<StoredView> {
  for (let after = ''; ;) {
    const views = await set.listAll({ after, limit: VIEWS_AT_ONCE });
    yield* views;
    const last = views.at(-1);
    if (!last) return;
    after = last.run.run_id;
  }
}

/** The log has lost the first fact. */
export const hasExpired = ({ run }: StoredView, since: string): boolean => run.created_at < since;
