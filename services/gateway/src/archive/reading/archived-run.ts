import { recoveredView } from '../../projection/core/recovered-view.ts';
import type { StoredView } from '../../projection/core/run-view.ts';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { ReadRunMessages } from './run-messages.ts';

/**
 * A run by its facts in the archive and in the log, and by the view that lacks some of them, if there is one; undefined when the archive has
 * nothing of it, or not enough. Of another log its heads are 0, as those of its view. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export type ReadArchivedRun = (
  key: RunKey,
  present: StoredView | undefined,
) => Promise<StoredView | undefined>;

export const archivedRun =
  (read: ReadRunMessages): ReadArchivedRun =>
  async (key, present) => {
    const messages = await read(key);
    if (!messages || messages.archived.length === 0) return undefined;
    const view = recoveredView(messages.isOfOtherLog ? undefined : present, messages);
    return view && messages.isOfOtherLog ? { ...view, head: 0, webhook: { ...view.webhook, head: 0 } } : view;
  };
