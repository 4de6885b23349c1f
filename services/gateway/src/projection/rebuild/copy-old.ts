import { projectRuns } from '../core/project-runs.ts';
import { runName } from '../core/run-name.ts';
import type { StoredView } from '../core/run-view.ts';
import type { ArchivedRun, BuildOptions } from './build-views.ts';
import { keyOf } from './core/compare-views.ts';
import { everyView, hasExpired, VIEWS_AT_ONCE } from './every-view.ts';

type CopyOptions = Pick<BuildOptions, 'live' | 'archived' | 'next' | 'signal' | 'onProgress'>;

/**
 * The views of runs whose first facts the log has lost: folded from the archive, and copied where that does not have them. What expires
 * meanwhile is copied when the sets are compared.
 */
export const copyOld = async (options: CopyOptions, since: string): Promise<void> => {
  const { live, archived, next } = options;
  const pages = inPages(options);
  for await (const run of archived) {
    const [first] = run.life;
    // What the log has is folded from there. Nothing is left of a deleted run that a view could be made of.
    if (run.isErased || first === undefined || first.time >= since) continue;
    await pages.add(viewsOf(run), (views) => next.save(views));
  }
  await pages.flush((views) => next.save(views));
  const saveMissing = async (views: readonly StoredView[]): Promise<void> => {
    const there = new Set((await next.load(views.map(keyOf))).map(({ run }) => runName(run)));
    await next.save(views.filter(({ run }) => !there.has(runName(run))));
  };
  for await (const view of everyView(live)) {
    if (hasExpired(view, since)) await pages.add([view], saveMissing);
  }
  await pages.flush(saveMissing);
};

/** Nothing for a run of which the archive has a part only. */
const viewsOf = ({ life, webhook }: ArchivedRun): readonly StoredView[] => {
  const messages = [...life, ...webhook].toSorted((a, b) => a.sequence - b.sequence);
  const projected = projectRuns([], messages);
  return projected.kind === 'projected' && projected.gaps.length === 0 ? projected.views : [];
};

type Save = (views: readonly StoredView[]) => Promise<void>;

const inPages = ({ signal, onProgress }: Pick<CopyOptions, 'signal' | 'onProgress'>) => {
  let [saved, page]: [number, StoredView[]] = [0, []];
  const flush = async (save: Save): Promise<void> => {
    signal.throwIfAborted();
    await save(page);
    saved += page.length;
    page = [];
    onProgress({ step: 'copying', done: saved, of: null });
  };
  return {
    flush,
    add: async (views: readonly StoredView[], save: Save): Promise<void> => {
      page.push(...views);
      if (page.length >= VIEWS_AT_ONCE) await flush(save);
    },
  };
};
