import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readAllOfRun, type MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import pLimit from 'p-limit';
import type { Kit } from '../kit.ts';
import type { KeptSince } from '../records/retention.ts';
import { recoveredView } from '../views/recovered-view.decide.ts';
import type { StoredView } from '../views/run-view.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import { beginsWithRun, joinRun } from './join.decide.ts';
import { countOf, MOST_MESSAGES, unpackRun } from './run-object.ts';

/** All that the log and the archive have of a run. */
interface ReadMessages extends MessagesOfRun {
  /** The log has nothing of it, and the archive has it from another log, in whose positions nobody can name a moment of this one. */
  readonly isOfOtherLog: boolean;
  /** The archive has something that the log does not. */
  readonly isArchived: boolean;
}

/**
 * Undefined for more messages than a run can have. A run that is older than its organisation keeps runs has none. It costs a read of the
 * log, and where that does not begin with the run one object. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export type ReadRunMessages = (key: RunKey) => Promise<ReadMessages | undefined>;

/** Of the log alone, without an archive. `keptSince`: runs that were created before are not kept. */
export const runMessages =
  ({ log }: Kit, objects: ArchiveObjects | undefined, keptSince: KeptSince): ReadRunMessages =>
  async (key) => {
    const stored = await readAllOfRun(log, key);
    if (!stored) return undefined;
    const only = { ...stored, isOfOtherLog: false, isArchived: false };
    if (!objects || beginsWithRun(stored)) return only;
    const bytes = await objects.get(key);
    if (!bytes) return only;
    const joined = joinRun(stored, await unpackRun(key, bytes, objects.placeOf(key)));
    if (countOf(joined) > MOST_MESSAGES) return undefined;
    const isArchived = countOf(joined) > countOf(stored);
    if (countOf(stored) > 0) return { ...joined, isOfOtherLog: false, isArchived };
    const all = [...joined.life, ...joined.webhook];
    const first = Math.min(...all.map(({ time }) => Date.parse(time)), Infinity);
    if (first < (await keptSince(key.org_id))) return only;
    const last = Math.max(...all.map(({ sequence }) => sequence), 0);
    return { ...joined, isOfOtherLog: last > (await runsIdentity(log)).lastSequence, isArchived };
  };

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
    if (messages?.isArchived !== true) return undefined;
    if (!messages.isOfOtherLog) return recoveredView(present, messages);
    const view = recoveredView(undefined, messages);
    return view && { ...view, head: 0, webhook: { ...view.webhook, head: 0 } };
  };

const READ_AT_ONCE = 16;

/** Whether somebody else has all of a run whose object cannot be read. */
export type IsKnown = (key: RunKey) => Promise<boolean>;

/** Every run that has an object, with what that and the log have of it. Those of another log have no place in views of this one. */
export async function* archivedRuns(
  objects: ArchiveObjects,
  read: ReadRunMessages,
  isKnown: IsKnown,
): AsyncGenerator<MessagesOfRun> {
  const readOne = async ({ org_id, run_id }: RunKey): ReturnType<ReadRunMessages> => {
    try {
      return await read({ org_id, run_id });
    } catch (error) {
      if (error instanceof ArchiveUnavailable && (await isKnown({ org_id, run_id }))) return undefined;
      throw error;
    }
  };
  for await (const page of objects.list())
    for (const messages of await pLimit(READ_AT_ONCE).map(page, readOne))
      if (messages?.isArchived === true && !messages.isOfOtherLog) yield messages;
}
