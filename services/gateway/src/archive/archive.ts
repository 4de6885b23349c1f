import type { OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Readiness } from '@runledger/event-log/connect/observability';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { sleep } from '@runledger/resilience/abort';
import pLimit from 'p-limit';
import type { Kit } from '../kit.ts';
import type { KeptSince } from '../records/retention.ts';
import { openArchiveObjects, type ArchiveObjects } from './archive-objects.ts';
import { runArchive, type RunArchive } from './archive-run.ts';
import { archiveRecords, archiveWalk, BEHIND, POSITION, type ArchiveWalk } from './archive-walk.ts';
import {
  archivedRun,
  archivedRuns,
  runMessages,
  type IsKnown,
  type ReadArchivedRun,
  type ReadRunMessages,
} from './run-messages.ts';

/** Begins where it stopped, and ends soon after the signal. */
interface Chore {
  readonly everyMs: number;
  /** For the log. */
  readonly failure: string;
  readonly work: (stop: AbortSignal) => Promise<void>;
}

/** What facts become when they leave the log: an object for each run. Without an archive its reads know the log alone. */
export interface Archive {
  readonly read: ReadRunMessages;
  readonly run: ReadArchivedRun;
  /** Whether it has runs that complete views need not know, since they are of another log. @throws {LogUnavailable} */
  readonly hasOthers: () => Promise<boolean>;
  /**
   * Every run that the archive has, with all messages, if its organisation keeps it: for somebody who makes views. One that cannot be read now
   * is left out if it is known otherwise.
   */
  readonly runs: (isKnown: IsKnown) => AsyncIterable<MessagesOfRun>;
  /** The runs of an organisation, or all, some at a time. */
  readonly keys: (org_id?: OrgId) => AsyncIterable<readonly RunKey[]>;
  /** Everything up to this sequence of the log is archived, or has left it without that: then nobody archives it any more. */
  readonly passedUpTo: ArchiveWalk['passedUpTo'];
  readonly erase: RunArchive['erase'];
  /** What is to be done again and again. */
  readonly upkeep: readonly Chore[];
  /** Removes what an organisation has in the archive. Resolves with how much there was. */
  readonly eraseOrganisation: (org_id: OrgId) => Promise<number>;
}

const HOUR_MS = 3_600_000;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;
const REMOVED_AT_ONCE = 16;

export const openArchive = (kit: Kit, keptSince: KeptSince): Archive => {
  const { config, log, logger, now } = kit;
  const objects = openArchiveObjects(config, { log, logger, now });
  const read = runMessages(kit, objects, keptSince);
  if (!objects) return logAlone(read);
  const writer = runArchive(kit, objects);
  const { walk, catchUp, passedUpTo } = archiveWalk(kit, objects, writer);
  const afterMs = config.RUNLEDGER_ARCHIVE_AFTER_HOURS * HOUR_MS;
  const everyMs = Math.max(Math.min(afterMs, LONGEST_PAUSE_MS), SHORTEST_PAUSE_MS);
  const removeOld = (stop: AbortSignal) => removeOldRuns(kit, objects, keptSince, stop);
  return {
    read,
    run: archivedRun(read),
    hasOthers: othersOf(kit),
    runs: (isKnown) => archivedRuns(objects, read, isKnown),
    keys: objects.list,
    passedUpTo,
    erase: writer.erase,
    upkeep: [
      { everyMs, failure: 'facts could not be archived', work: walk },
      { everyMs, failure: 'organisations that are behind could not be archived', work: catchUp },
      // It lists every run of the archive.
      { everyMs: 60 * everyMs, failure: 'old archived runs could not be removed', work: removeOld },
    ],
    eraseOrganisation: (org_id) => removeAllRuns(kit, objects, org_id),
  };
};

const logAlone = (read: ReadRunMessages): Archive => ({
  read,
  run: archivedRun(read),
  hasOthers: async () => false,
  runs: none,
  keys: none,
  passedUpTo: async () => Infinity,
  erase: (_key, _erased, then) => then(),
  upkeep: [],
  eraseOrganisation: async () => 0,
});

async function* none(): AsyncGenerator<never> {}

const KNOWN_FOR_MS = 30_000;

/** Once there are some, they stay. Each new run with a key asks it. */
const othersOf = ({ log, clock }: Kit): Archive['hasOthers'] => {
  const { positions } = archiveRecords(log);
  let known = { has: true, until: -Infinity };
  return async () => {
    // Before it begins, nobody knows what is there.
    if (clock() > known.until) {
      const found = await positions.get(POSITION);
      known = { has: found?.value.has_others ?? true, until: found ? clock() + KNOWN_FOR_MS : -Infinity };
    }
    return known.has;
  };
};

/**
 * Removes the objects that were written longer ago than their organisation keeps runs: a run was created before it was archived. Reads show
 * none that is older. @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const removeOldRuns = async (
  { config }: Pick<Kit, 'config'>,
  objects: ArchiveObjects,
  keptSince: KeptSince,
  stop: AbortSignal,
): Promise<void> => {
  const since = new Map<string, number>();
  for await (const page of objects.list()) {
    for (const { org_id } of page) if (!since.has(org_id)) since.set(org_id, await keptSince(org_id));
    const old = page.filter(({ org_id, storedMs }) => storedMs < (since.get(org_id) ?? 0));
    await pLimit(REMOVED_AT_ONCE).map(old, (key) => objects.remove(key));
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
  for await (const page of objects.list(org_id)) {
    await pLimit(REMOVED_AT_ONCE).map(page, (key) => objects.remove(key));
    removed += page.length;
  }
  await archiveRecords(log).behind.erase(`${BEHIND}.${org_id}`);
  return removed;
};

/** For `/readyz`: it is ready, but an operator should know which organisations are not archived. */
export const archiveState = ({ log, config }: Pick<Kit, 'log' | 'config'>): (() => Promise<Readiness>) => {
  const { behind } = archiveRecords(log);
  return async () => {
    if (config.RUNLEDGER_ARCHIVE === 'none') return { ok: true };
    const found = await behind.list(BEHIND);
    if (found.length === 0) return { ok: true };
    const named = found
      .slice(0, 10)
      .map(({ value: { org_id, since, why } }) => `${org_id} since ${since}: ${why}`);
    return { ok: true, note: `${found.length} organisations are not archived. ${named.join('. ')}` };
  };
};
