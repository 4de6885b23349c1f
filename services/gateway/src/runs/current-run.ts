import { isEnded, type Run } from '@runledger/contracts/run';
import type { RunKey } from '@runledger/contracts/subjects';
import type { EventLog } from '@runledger/event-log/event-log';
import type { Logger } from '@runledger/event-log/logger';
import { head, readRun } from '@runledger/event-log/read-run';
import { ViewsUnavailable } from '../views/run-views.ts';
import type { FindView } from './find-view.ts';

export type CurrentRun =
  | { readonly kind: 'found'; readonly run: Run }
  | { readonly kind: 'none' }
  /** What the log and the views have does not tell what the run is now. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** The views cannot be asked, and the log does not have it (any more). */
  | { readonly kind: 'views_away'; readonly why: string };

/** @throws {LogUnavailable} */
export type ReadCurrentRun = (key: RunKey) => Promise<CurrentRun>;

export interface CurrentRunOptions {
  readonly log: EventLog;
  readonly find: FindView;
  readonly logger: Logger;
}

/**
 * What the run is now, never less than what anybody was shown before: a final view is taken as it is, any other one is
 * compared with the run's head at the stream's leader, and the log is folded when the view is behind or not there.
 */
export const currentRun =
  ({ log, find, logger }: CurrentRunOptions): ReadCurrentRun =>
  async (key) => {
    const found = await find(key);
    const view = found instanceof ViewsUnavailable ? undefined : found;
    if (view && isEnded(view.run)) return { kind: 'found', run: view.run };
    const present = await head(log, key);
    if (view && view.head >= present) return { kind: 'found', run: view.run };
    const read = present === 0 ? { kind: 'none' as const } : await readRun(log, key, { atLeast: present });
    switch (read.kind) {
      case 'found':
        return { kind: 'found', run: read.run };
      case 'none':
        if (view) return { kind: 'found', run: view.run };
        return found instanceof ViewsUnavailable
          ? { kind: 'views_away', why: found.message }
          : { kind: 'none' };
      case 'damaged':
        logger.error({ run_id: key.run_id, why: read.why }, 'the history of a run is damaged');
        return view ? { kind: 'found', run: view.run } : { kind: 'unreadable', why: read.why };
      case 'newer_version':
        return {
          kind: 'unreadable',
          why: `${read.type} in version ${read.version} was written by a later release`,
        };
    }
  };
