import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head as headOf, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import type { StoredView } from '../../projection/core/run-view.ts';
import type { RunViews } from '../../projection/run-views.ts';

/** A run whose beginning the log has lost: only its view is left. */
interface LostRun {
  readonly kind: 'lost';
  readonly view: StoredView;
  readonly head: number;
  /** What the log still holds of it. */
  readonly held: 'a part' | 'nothing';
}

/** Undefined when nothing can be decided on what is known now. */
export type ReadOrLost = Extract<ReadRun, { kind: 'found' }> | LostRun | undefined;

/**
 * The run as the log's leader has it. Of a run whose beginning is gone, its view, when that has every message that the log still
 * holds. Otherwise one of them may be its end, and they expire soon as well. `atLeast`: as `readRun`.
 */
export const readOrLost = async (
  { log, views }: { readonly log: EventLog; readonly views: Pick<RunViews, 'find'> },
  key: RunKey,
  atLeast?: number,
): Promise<ReadOrLost> => {
  const head = atLeast ?? (await headOf(log, key));
  const read = await readRun(log, key, { atLeast: head });
  switch (read.kind) {
    case 'found':
      return read;
    case 'none': {
      const view = await views.find(key);
      return view && { kind: 'lost', view, head: read.head, held: 'nothing' };
    }
    case 'damaged': {
      const view = await views.find(key);
      return view?.head === head ? { kind: 'lost', view, head, held: 'a part' } : undefined;
    }
    case 'deleted':
    case 'newer_version':
      return undefined;
  }
};
