import type { OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { waitFor } from '@runledger/testing/wait-for';
import { openArchiveObjects, type ArchiveObjects } from '../../src/archive/archive-objects.ts';
import {
  archiveRecords,
  BEHIND,
  POSITION,
  type ArchivePosition,
  type BehindRecord,
} from '../../src/archive/archive-walk.ts';
import { runArchive, type RunArchive } from '../../src/archive/archive-run.ts';
import { archiveWalk, type ArchiveWalk } from '../../src/archive/archive-walk.ts';
import { unpackRun } from '../../src/archive/run-object.ts';
import type { Kit } from '../../src/kit.ts';
import { aConfig, aKit } from '../fixtures/gateway/a-kit.ts';
import type { TestBed } from '../fixtures/gateway/test-bed.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';

/** Facts are archived some milliseconds after they were stored. */
export const ARCHIVES_AT_ONCE = { RUNLEDGER_ARCHIVE_AFTER_HOURS: '0.000001' };

/** Of a bed without a gateway: the objects are in the broker. */
export const objectsOf = (
  log: EventLog,
  environment: Readonly<Record<string, string>> = {},
): ArchiveObjects =>
  openArchiveObjects(aConfig(environment), { log, logger: silentLogger, now: () => new Date() });

export interface Archiving {
  /** With no view, unless it has some. */
  readonly kit: Kit;
  readonly objects: ArchiveObjects;
}

/** Archives as a gateway does. */
export const archiving = (log: EventLog, given: Partial<Archiving> = {}): ArchiveWalk & RunArchive => {
  const config = aConfig(ARCHIVES_AT_ONCE);
  const { kit = aKit({ log, config, views: sqliteViews() }), objects = objectsOf(log) } = given;
  const writer = runArchive(kit, objects);
  return { ...writer, ...archiveWalk(kit, writer) };
};

const never = new AbortController().signal;

/** Archives all that the log has. */
export const archiveAll = async (log: EventLog, given: Partial<Archiving> = {}): Promise<void> => {
  const { walk } = archiving(log, given);
  const { last_seq } = (await log.jsm.streams.info('RUNS')).state;
  do await walk(never);
  while (((await positionOf(log))?.sequence ?? -1) < last_seq);
};

/** Tries those that are behind once more. */
export const catchUp = (log: EventLog, given: Partial<Archiving> = {}): Promise<void> =>
  archiving(log, given).catchUp(never);

export const positionOf = async (log: EventLog): Promise<ArchivePosition | undefined> =>
  (await archiveRecords(log).positions.get(POSITION))?.value;

export const behindOf = async (log: EventLog): Promise<BehindRecord[]> =>
  (await archiveRecords(log).behind.list(BEHIND)).map(({ value }) => value);

/** Waits until everything that the log has now is archived. */
export const archivedUpTo = async ({ log }: Pick<TestBed, 'log'>): Promise<void> => {
  const { state } = await log.jsm.streams.info('RUNS');
  await waitFor('the archive', async () => ((await positionOf(log))?.sequence ?? -1) >= state.last_seq);
};

/** All runs that have an object. */
export const archivedIn = async (log: EventLog, objects = objectsOf(log)): Promise<RunKey[]> => {
  const found: RunKey[] = [];
  for await (const page of objects.list())
    found.push(...page.map(({ org_id, run_id }) => ({ org_id, run_id })));
  return found;
};

/** What the archive has of a run. */
export const archivedOf = async (
  log: EventLog,
  key: RunKey,
  objects = objectsOf(log),
): Promise<MessagesOfRun | undefined> => {
  const bytes = await objects.get(key);
  return bytes && unpackRun(key, bytes, objects.placeOf(key));
};

/** What the whole archive says, as text: to look for what must not be in it. */
export const textOfArchive = async (log: EventLog): Promise<string> => {
  const texts: string[] = [];
  for (const key of await archivedIn(log)) texts.push(JSON.stringify(await archivedOf(log, key)));
  return texts.join('\n');
};

/** A store of which this organisation's objects fail as `how` says, until it is told to end. */
export const failingFor = (
  objects: ArchiveObjects,
  org_id: OrgId,
  how: () => Promise<never>,
): ArchiveObjects & { readonly end: () => void } => {
  let isOver = false;
  const unless =
    <Given extends unknown[], Result>(work: (key: RunKey, ...given: Given) => Promise<Result>) =>
    (key: RunKey, ...given: Given): Promise<Result> =>
      key.org_id === org_id && !isOver ? how() : work(key, ...given);
  return {
    ...objects,
    put: unless(objects.put),
    get: unless(objects.get),
    remove: unless(objects.remove),
    end: () => {
      isOver = true;
    },
  };
};

/** The object of a run has other bytes than were written. Resolves with how to put it back. */
export const damage = async (
  log: EventLog,
  key: RunKey,
  objects = objectsOf(log),
): Promise<() => Promise<void>> => {
  const bytes = await objects.get(key);
  if (!bytes) throw new Error(`run ${key.run_id} is not archived`);
  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 255, damaged.length - 1);
  await objects.put(key, damaged);
  return () => objects.put(key, bytes);
};

/** No object of the archive, or of these runs, can be read any more. Resolves with how to put them back. */
export const takeObjectsAway = async (
  log: EventLog,
  isTaken: (key: RunKey) => boolean = () => true,
): Promise<() => Promise<void>> => {
  const back: (() => Promise<void>)[] = [];
  for (const key of await archivedIn(log)) if (isTaken(key)) back.push(await damage(log, key));
  return async () => {
    for (const put of back) await put();
  };
};
