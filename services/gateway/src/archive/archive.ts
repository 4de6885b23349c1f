import type { OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readAllOfRun, type MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import type { Readiness } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';
import pLimit from 'p-limit';
import type { Kit } from '../kit.ts';
import type { RetentionCutoff } from '../records/retention.ts';
import { recoveredView } from '../views/recovered-view.decide.ts';
import type { StoredView } from '../views/run-view.ts';
import { ArchiveUnavailable, openArchiveObjects, type ArchiveObjects } from './archive-objects.ts';
import { runArchive, type RunArchive } from './archive-run.ts';
import { beginsWithRun, joinRun } from './join.decide.ts';
import { countOf, MOST_MESSAGES, unpackRun } from './run-object.ts';
import { archiveRecords, archiveWalk, BEHIND, type ArchiveWalk } from './archive-walk.ts';

/** What facts become when they leave the log: an object for each run. */
export interface Archive extends ArchiveWalk {
  readonly read: ReadRunMessages;
  readonly run: ReturnType<typeof archivedRun>;
  /**
   * Every run that the archive has, with all messages, if its organisation keeps it: for somebody who makes views. One whose object cannot be
   * read now is left out if somebody else has all of it.
   */
  readonly runs: (isKnown: (key: RunKey) => Promise<boolean>) => AsyncIterable<MessagesOfRun>;
  /** All runs, or those of an organisation, some at a time. */
  readonly keys: (org_id?: string) => AsyncIterable<readonly RunKey[]>;
  readonly erase: RunArchive['erase'];
  readonly removeOld: (stop: AbortSignal) => Promise<void>;
  /** Removes what an organisation has in the archive. Resolves with how much there was. */
  readonly eraseOrganisation: (org_id: OrgId) => Promise<number>;
}

export const openArchive = (kit: Kit, retentionCutoff: RetentionCutoff): Archive => {
  const objects = openArchiveObjects(kit.config, kit);
  const read = runMessages(kit, objects, retentionCutoff);
  const writer = runArchive(kit, objects);
  return {
    ...archiveWalk(kit, writer),
    read,
    run: archivedRun(read),
    runs: (isKnown) => archivedRuns(objects, read, isKnown),
    keys: (org_id) => objects.list(org_id),
    erase: writer.erase,
    removeOld: (stop) => removeOldRuns(kit, objects, retentionCutoff, stop),
    eraseOrganisation: (org_id) => removeAllRuns(kit, objects, org_id),
  };
};

/** All that the log and the archive have of a run. */
interface ReadMessages extends MessagesOfRun {
  /** The log has nothing of it, and the archive has it from another log, in whose positions nobody can name a moment of this one. */
  readonly isOfOtherLog: boolean;
  /** The archive has something that the log does not. */
  readonly isArchived: boolean;
}

type ReadRunMessages = ReturnType<typeof runMessages>;

/**
 * Undefined for more messages than a run can have. A run that was created before `retentionCutoff`, when its organisation keeps none, has none. It
 * costs a read of the log, and where that does not begin with the run one object. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
const runMessages =
  ({ log }: Kit, objects: ArchiveObjects, retentionCutoff: RetentionCutoff) =>
  async (key: RunKey): Promise<ReadMessages | undefined> => {
    const stored = await readAllOfRun(log, key);
    if (!stored) return undefined;
    const only = { ...stored, isOfOtherLog: false, isArchived: false };
    if (beginsWithRun(stored)) return only;
    const bytes = await objects.get(key);
    if (!bytes) return only;
    const joined = joinRun(stored, await unpackRun(key, bytes, objects.placeOf(key)));
    if (countOf(joined) > MOST_MESSAGES) return undefined;
    const isArchived = countOf(joined) > countOf(stored);
    if (countOf(stored) > 0) return { ...joined, isOfOtherLog: false, isArchived };
    const all = [...joined.life, ...joined.webhook];
    const first = Math.min(...all.map(({ time }) => Date.parse(time)), Infinity);
    if (first < (await retentionCutoff(key.org_id))) return only;
    const last = Math.max(...all.map(({ sequence }) => sequence), 0);
    return { ...joined, isOfOtherLog: last > (await runsIdentity(log)).lastSequence, isArchived };
  };

/**
 * A run by its facts in the archive and in the log, and by the view that lacks some of them, if there is one; undefined when the archive has
 * nothing of it, or not enough. Of another log its heads are 0, as those of its view. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
const archivedRun =
  (read: ReadRunMessages) =>
  async (key: RunKey, present: StoredView | undefined): Promise<StoredView | undefined> => {
    const messages = await read(key);
    if (messages?.isArchived !== true) return undefined;
    if (!messages.isOfOtherLog) return recoveredView(present, messages);
    const view = recoveredView(undefined, messages);
    return view && { ...view, head: 0, webhook: { ...view.webhook, head: 0 } };
  };

const READ_AT_ONCE = 16;

/** Every run that has an object, with what that and the log have of it. Those of another log have no place in views of this one. */
async function* archivedRuns(
  objects: ArchiveObjects,
  read: ReadRunMessages,
  isKnown: (key: RunKey) => Promise<boolean>,
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

const REMOVED_AT_ONCE = 16;
const removeRuns = async ({ remove }: ArchiveObjects, keys: readonly RunKey[]): Promise<number> =>
  (await pLimit(REMOVED_AT_ONCE).map(keys, remove)).length;

/**
 * Removes the objects that were written longer ago than their organisation keeps runs: a run was created before it was archived. Reads show
 * none that is older. @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const removeOldRuns = async (
  { config }: Pick<Kit, 'config'>,
  objects: ArchiveObjects,
  retentionCutoff: RetentionCutoff,
  stop: AbortSignal,
): Promise<void> => {
  const since = new Map<string, number>();
  for await (const page of objects.list()) {
    for (const { org_id } of page) if (!since.has(org_id)) since.set(org_id, await retentionCutoff(org_id));
    const old = page.filter(({ org_id, storedMs }) => storedMs < (since.get(org_id) ?? 0));
    await removeRuns(objects, old);
    if (stop.aborted) return;
    await sleep(1_000 / config.RUNLEDGER_ARCHIVE_PAGES_PER_S, stop);
  }
};

/** Of an organisation that is erased. Resolves with how many there were; a list may lack what is stored meanwhile. */
export const removeAllRuns = async (
  { log }: Pick<Kit, 'log'>,
  objects: ArchiveObjects,
  org_id: OrgId,
): Promise<number> => {
  let removed = 0;
  for await (const page of objects.list(org_id)) removed += await removeRuns(objects, page);
  await archiveRecords(log).behind.erase(`${BEHIND}.${org_id}`);
  return removed;
};

/** For `/readyz`: it is ready, but an operator should know which organisations are not archived. */
export const archiveState = ({ log }: Pick<Kit, 'log'>): (() => Promise<Readiness>) => {
  const { behind } = archiveRecords(log);
  return async () => {
    const found = await behind.list(BEHIND);
    if (found.length === 0) return { ok: true };
    const named = found
      .slice(0, 10)
      .map(({ value: { org_id, since, why } }) => `${org_id} since ${since}: ${why}`);
    return { ok: true, note: `${found.length} organisations are not archived. ${named.join('. ')}` };
  };
};
