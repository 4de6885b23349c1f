import { isEnded } from '@runledger/contracts/fold/run';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import type { FilesQuery } from '../../projection/core/list-query.ts';
import type { StoredView } from '../../projection/core/run-view.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { IN_A_ROUND, MAX_CONCURRENT, PAGE, type Round } from './round.ts';

export interface EraseOldFilesOptions extends Round {
  readonly views: Pick<RunViews, 'listWithFiles' | 'save'>;
}

/**
 * Erases the output files of old runs. The view then says that the run has no bytes of files; it still lists them, as files that
 * have expired. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseOldFiles = async (
  { views, erase, onRemoved, stop }: EraseOldFilesOptions,
  which: Omit<FilesQuery, 'limit'>,
): Promise<void> => {
  const eraseOne = async (view: StoredView): Promise<StoredView[]> => {
    const { run } = view;
    if (stop.aborted || !isEnded(run)) return [];
    onRemoved({ runs: 0, bytes: await erase(run.org_id, run) });
    return [{ ...view, run: { ...run, output_bytes: 0 } }];
  };
  for (let seen = 0; seen < IN_A_ROUND && !stop.aborted; seen += PAGE) {
    const page = await views.listWithFiles({ ...which, limit: PAGE });
    await views.save((await actOnEach(page, eraseOne, MAX_CONCURRENT)).flat());
    if (page.length < PAGE) return;
  }
};
