import { projectRuns } from '../core/project-runs.ts';
import { runName } from '../core/run-name.ts';
import type { StoredView } from '../core/run-view.ts';
import type { ArchivedRun, BuildOptions } from './build-views.ts';
import { keyOf } from './core/compare-views.ts';
import { inBatches } from './core/in-batches.ts';
import { everyView, hasExpired, VIEWS_AT_ONCE } from './every-view.ts';

type CopyOptions = Pick<BuildOptions, 'live' | 'archived' | 'next' | 'signal' | 'onProgress'>;

/**
 * The views of runs whose first facts the log has lost: folded from the archive, and copied where that does not have them. What expires
 * meanwhile is copied when the sets are compared.
 */
export const copyOld = async (options: CopyOptions, since: string): Promise<void> => {
  const { live, archived, next, signal, onProgress } = options;
  let copied = 0;
  const save = async (views: readonly StoredView[]): Promise<void> => {
    signal.throwIfAborted();
    await next.save(views);
    copied += views.length;
    onProgress({ step: 'copying', done: copied, of: null });
  };
  for await (const views of inBatches(viewsOfArchived(archived, since), VIEWS_AT_ONCE)) await save(views);
  for await (const views of inBatches(expiredViews(live, since), VIEWS_AT_ONCE)) {
    const there = new Set((await next.load(views.map(keyOf))).map(({ run }) => runName(run)));
    await save(views.filter(({ run }) => !there.has(runName(run))));
  }
};

async function* viewsOfArchived(
  archived: CopyOptions['archived'],
  since: string,
): AsyncGenerator<readonly StoredView[]> {
  for await (const run of archived) {
    const [first] = run.life;
    // What the log has is folded from there. Nothing is left of a deleted run that a view could be made of.
    if (!run.isErased && first !== undefined && first.time < since) yield viewsOf(run);
  }
}

/** Nothing for a run of which the archive has a part only. */
const viewsOf = ({ life, webhook }: ArchivedRun): readonly StoredView[] => {
  const messages = [...life, ...webhook].toSorted((a, b) => a.sequence - b.sequence);
  const projected = projectRuns([], messages);
  return projected.kind === 'projected' && projected.gaps.length === 0 ? projected.views : [];
};

async function* expiredViews(
  live: CopyOptions['live'],
  since: string,
): AsyncGenerator<readonly StoredView[]> {
  for await (const view of everyView(live)) if (hasExpired(view, since)) yield [view];
}
