import { isDeepStrictEqual } from 'node:util';
import { isDeleted, isEnded, NO_OUTPUTS } from '@runledger/contracts/fold/run';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { eraseLogs } from '@runledger/event-log/streams/logs';
import type { Logger } from '@runledger/event-log/connect/logger';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import { ofCompleteViews, type CompleteViewsOptions } from '../../projection/of-complete-views.ts';
import { outputsToErase, type StoredView } from '../../projection/core/run-view.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { whileProjecting } from '../../projection/while-projecting.ts';
import type { NoteErasure } from '../../archive/erasing/erase-archived.ts';
import type { EraseBlobs } from '../../blobs/erase-blobs.ts';
import type { EraseInputFiles } from './erase-input-files.ts';
import type { EraseFiles } from './erase-files.ts';

export interface EraseDeletedOptions extends CompleteViewsOptions {
  readonly views: Pick<RunViews, 'listToErase' | 'position' | 'save'>;
  readonly erase: EraseFiles;
  readonly eraseBlobs: EraseBlobs;
  readonly eraseInputFiles: EraseInputFiles;
  /** Its facts may be archived. */
  readonly noteErasure: NoteErasure;
  readonly log: EventLog;
  /** Runs, and bytes of files. */
  readonly onErased: (erased: { readonly runs: number; readonly bytes: number }) => void;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const CHECK_EVERY_MS = 1_000;
const PAGE = 200;
const MAX_CONCURRENT = 8;

/**
 * Erases the files of deleted runs and outputs, and the logs, input files and blobs of deleted runs, until it is disposed of. A view says what is
 * left to erase until all of it is erased, so a crash in between loses nothing.
 */
export const openErasing = (options: EraseDeletedOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'files of deleted runs could not be erased',
    everyMs: CHECK_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => eraseDeleted(options, stop),
  });

const eraseDeleted = async (options: EraseDeletedOptions, stopping: AbortSignal): Promise<void> => {
  const { views, erase, eraseBlobs, eraseInputFiles, noteErasure, log, onErased } = options;
  const eraseOne = async (view: StoredView): Promise<void> => {
    const { run } = view;
    const outputs = outputsToErase(run);
    if (stopping.aborted || !outputs) return;
    const bytes = await erase(run.org_id, outputs);
    // Until then the archive has what names them: views that are lost meanwhile are made from there.
    const note = () => noteErasure(run, isDeleted(run) ? 'run' : 'outputs', view.head);
    if (isDeleted(run)) {
      await eraseLogs(log, run);
      await eraseInputFiles(run.org_id, outputs.files);
      // The list names the files, so the view has kept it until now.
      const unlisted = { ...view, run: { ...run, to_erase: { ...outputs, ...NO_OUTPUTS } } };
      if (outputs.outputs_blob) await views.save([unlisted]);
      if (!(await eraseBlobs(run.org_id, outputs.blobs ?? []))) return;
      await note();
      await views.save([{ ...view, run: { ...run, to_erase: null } }]);
    } else if (isEnded(run) && run.deleted_outputs) {
      await note();
      const deleted_outputs = { ...run.deleted_outputs, to_erase: null };
      await views.save([{ ...view, run: { ...run, deleted_outputs } }]);
      // What a crash leaves here goes with the sweep.
      if (outputs.outputs_blob) await eraseBlobs(run.org_id, [outputs.outputs_blob]);
    }
    onErased({ runs: isDeleted(run) ? 1 : 0, bytes });
  };
  for (let after: string | undefined = ''; after !== undefined && !stopping.aborted;) {
    const page: readonly StoredView[] = await views.listToErase({ after, limit: PAGE });
    await actOnEach(await thatAreKnown(options, page, after), eraseOne, MAX_CONCURRENT);
    after = page.at(-1)?.run.run_id;
  }
};

/**
 * A view that was made of the deletion alone names nothing to erase. While views lack facts, that says nothing: what names the files may be
 * in the archive, which is erased next.
 */
const thatAreKnown = async (
  { views, fresh }: EraseDeletedOptions,
  page: readonly StoredView[],
  after: string,
): Promise<readonly StoredView[]> => {
  if (!page.some(namesNothing)) return page;
  const known = await ofCompleteViews({ views, fresh }, () => views.listToErase({ after, limit: PAGE }));
  return known ?? page.filter((view) => !namesNothing(view));
};

const namesNothing = ({ run }: StoredView): boolean => isDeepStrictEqual(outputsToErase(run), NO_OUTPUTS);
