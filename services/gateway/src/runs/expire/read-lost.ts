import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head as headOf, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import type { ReadArchivedRun } from '../../archive/reading/archived-run.ts';
import type { FreshViews } from '../../projection/fresh-views.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { decideLost, type LostRunDecision } from './core/lost-run.ts';

export interface ReadLostOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'find' | 'save'>;
  readonly fresh: Pick<FreshViews, 'areComplete'>;
  readonly archived: ReadArchivedRun;
}

type Lost = Extract<LostRunDecision, { kind: 'lost' }>;

/** Undefined when nothing may end because the log has lost it. */
export type ReadOrLost = Extract<ReadRun, { kind: 'found' }> | Lost | undefined;

/**
 * The run as the log's leader has it, or its view when neither the log nor the archive has more of it. What the archive has more comes into
 * the views. `atLeast`: as `readRun`. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {ArchiveUnavailable}
 */
export const readOrLost = async (
  options: ReadLostOptions,
  key: RunKey,
  atLeast?: number,
): Promise<ReadOrLost> => {
  const { log } = options;
  const head = atLeast ?? (await headOf(log, key));
  const read = await readRun(log, key, { atLeast: head });
  switch (read.kind) {
    case 'found':
      return read;
    case 'none':
      return lostOrRecovered(options, key, 'nothing', read.head);
    case 'damaged':
      return lostOrRecovered(options, key, 'a part', head);
    case 'deleted':
    case 'newer_version':
      return undefined;
  }
};

/** Behind the read of the log, in this order: see `LostRun`. */
const lostOrRecovered = async (
  { views, fresh, archived }: ReadLostOptions,
  key: RunKey,
  held: Lost['held'],
  head: number,
): Promise<Lost | undefined> => {
  const areViewsComplete = await fresh.areComplete();
  const view = await views.find(key);
  const decision = decideLost({
    held,
    head,
    areViewsComplete,
    view,
    archived: areViewsComplete ? await archived(key, view) : undefined,
  });
  if (decision.kind === 'recover') await views.save([decision.view]);
  return decision.kind === 'lost' ? decision : undefined;
};
