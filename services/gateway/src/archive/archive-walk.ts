import { runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { readPage } from '@runledger/event-log/read/read-pages';
import { readStored } from '@runledger/event-log/read/run-messages';
import { readLogAge, runsIdentity, type RunsIdentity } from '@runledger/event-log/read/stream-identity';
import { openBucket, type Bucket, type Entry } from '@runledger/event-log/streams/bucket';
import { sleep } from '@runledger/resilience/abort';
import { atMost } from '@runledger/resilience/at-most';
import { messageOf } from '@runledger/resilience/errors';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { Type, type Static } from 'typebox';
import type { Kit } from '../kit.ts';
import type { ProjectionStart } from '../views/projection-start.decide.ts';
import { ViewsUnavailable } from '../views/run-views.ts';
import { ArchiveUnavailable, openArchiveObjects, type ArchiveObjects } from './archive-objects.ts';
import type { RunArchive } from './archive-run.ts';

const Position = Type.Integer({ minimum: 0 });

/** How far the log is archived: everything of a run up to there is in its object, unless its organisation is behind. */
export const ArchivePosition = Type.Object({
  /** Of RUNS; a stream that was created anew has another one. */
  log_created: Type.String(),
  sequence: Position,
  /** The broker's time of that message, and the hash of what it says; null before the first, and for one that had left the log. */
  time: Type.Union([Type.String(), Type.Null()]),
  hash: Type.Union([Type.String(), Type.Null()]),
});
export type ArchivePosition = Readonly<Static<typeof ArchivePosition>>;

/** An organisation of which a run could not be archived. Others go on. */
export const BehindRecord = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  /** The first message that may not be archived. */
  from: Position,
  /** By the clock of the gateway that noticed it. */
  since: Type.String(),
  /** What failed, with the object. */
  why: Type.String({ maxLength: 2_000 }),
});
export type BehindRecord = Readonly<Static<typeof BehindRecord>>;

export const POSITION = 'positions.runs';
/** `behind.<organisation>` */
export const BEHIND = 'behind';

/** One bucket, and two kinds of keys. Every method may throw LogUnavailable. */
export const archiveRecords = (
  log: EventLog,
): { readonly positions: Bucket<ArchivePosition>; readonly behind: Bucket<BehindRecord> } => ({
  positions: openBucket(log, 'ARCHIVE', ArchivePosition),
  behind: openBucket(log, 'ARCHIVE', BehindRecord),
});

/**
 * Goes through the log, and archives each run that it meets. When the position has passed a message of a run, it is in the run's object, or
 * the run's organisation has a record that says from where on it is behind. So nothing that one organisation has holds up another one.
 */
export interface ArchiveWalk {
  /** Archives what is old enough. @throws {LogUnavailable} @throws {ViewsUnavailable} */
  readonly walk: (stop: AbortSignal) => Promise<void>;
  /** Tries organisations that are behind again, each from where it stopped. Throws as `walk` does. */
  readonly catchUp: (stop: AbortSignal) => Promise<void>;
  /** Up to this sequence of the log everything is archived, or has left it without that. Nobody archives it later. @throws {LogUnavailable} */
  readonly passedUpTo: () => Promise<number>;
}

/** A part of the age of the log, so that there is time to repair what keeps facts from being archived. */
const MOST_OF_LOG_AGE = 1 / 8;
const HOUR_MS = 3_600_000;
const RUNS_AT_ONCE = 32;
/** Organisations that are behind, and runs of each. */
const BEHIND_AT_ONCE = 32;
const RUNS_OF_EACH = 4;
/** Runs whose later messages were archived with the first. */
const REMEMBERED = 100_000;
const TAKEN = 'Another gateway archives the log.';
const UNREAD = 'The log was restored, and the projection has not begun with it yet.';

export const archiveWalk = (kit: Kit, { archive, isWritten }: RunArchive): ArchiveWalk => {
  const { config, log, views, logger, metrics } = kit;
  const { positions, behind } = archiveRecords(log);
  const pageEveryMs = 1_000 / config.RUNLEDGER_ARCHIVE_PAGES_PER_S;
  /** Nobody passes a message while an organisation stops being behind. */
  const passing = pLimit(1);
  const archivedTo = new LRUCache<string, number>(atMost(REMEMBERED));

  /** Resolves with what failed: each organisation ends with its first failure. */
  const archivePage = async (
    page: readonly StoredMessage[],
    atOnce: number,
    stop: AbortSignal,
  ): Promise<Failed[]> => {
    const failed = new Map<string, Failed>();
    await pLimit(atOnce).map(runsIn(page), async ({ key, key: { org_id, run_id }, upTo }) => {
      if ((archivedTo.get(run_id) ?? 0) >= upTo || failed.has(org_id) || stop.aborted) return;
      try {
        archivedTo.set(run_id, await archive(key));
      } catch (error) {
        if (error instanceof LogUnavailable || error instanceof ViewsUnavailable) throw error;
        failed.set(org_id, { org_id, from: page[0]?.sequence ?? 0, why: messageOf(error).slice(0, 2_000) });
      }
    });
    return [...failed.values()];
  };

  const fallBehind = async (failed: Failed): Promise<void> => {
    const record = { ...failed, since: kit.now().toISOString() };
    if ((await behind.create(`${BEHIND}.${failed.org_id}`, record)) === false) return;
    logger.error(failed, 'an organisation cannot be archived; the others go on');
    metrics.archive.failed();
  };

  const walkPage = async (stop: AbortSignal): Promise<boolean> => {
    const { now, maxAgeMs } = await readLogAge(log);
    const afterMs = Math.min(config.RUNLEDGER_ARCHIVE_AFTER_HOURS * HOUR_MS, maxAgeMs * MOST_OF_LOG_AGE);
    const position = await readPosition();
    const { value } = position;
    const page = await readPage(log, 'RUNS', value.sequence + 1);
    const young = page.findIndex(({ time }) => Date.parse(time) > now - afterMs);
    const due = young === -1 ? page : page.slice(0, young);
    const last = due.at(-1);
    if (!last) return false;
    const known = new Set((await behind.list(BEHIND)).map(({ value: { org_id } }) => org_id));
    const others = due.filter(({ subject }) => !known.has(runOfSubject(subject)?.org_id ?? ''));
    const failed = await archivePage(others, RUNS_AT_ONCE, stop);
    if (stop.aborted) return false;
    for (const one of failed) await fallBehind(one);
    if ((await runsIdentity(log)).created !== value.log_created) return false;
    await moveTo(position, { ...value, sequence: last.sequence, time: last.time, hash: hashIn(last) });
    return true;
  };

  /** Where the walk goes on. What has left the log since nobody archives any more is lost. */
  const readPosition = async (): Promise<Reached> => {
    const found = await positions.get(POSITION);
    const identity = await runsIdentity(log, found?.value.sequence);
    const left = Math.max(identity.firstSequence - 1, 0);
    const begun = { log_created: identity.created, sequence: left, time: null, hash: null };
    if (!found) {
      await positions.create(POSITION, begun);
      return readPosition();
    }
    const { value } = found;
    if (!(await isOfThisLog(log, value, identity))) {
      const viewed = await views.position();
      if (viewed?.stream_created === identity.created && viewed.missed === null) throw new Error(UNREAD);
      logger.error(
        { archived_to: value.sequence },
        'the log is another one than was archived, or was restored from an older copy: all of it is archived again',
      );
      archivedTo.clear();
      // All of it is walked, that of these organisations too.
      for (const { key, revision } of await behind.list(BEHIND)) await behind.eraseAt(key, revision);
      return moveTo(found, begun);
    }
    if (value.sequence >= left) return found;
    const moved = await moveTo(found, { ...value, ...begun });
    lose(left - value.sequence, {});
    return moved;
  };

  const moveTo = async (from: Reached, value: ArchivePosition): Promise<Reached> => {
    const revision = await positions.update(POSITION, value, from.revision);
    if (revision === false) throw new Error(TAKEN);
    return { ...from, value, revision };
  };

  const lose = (messages: number, about: object): void => {
    logger.error({ ...about, messages }, 'messages left the log before they were archived');
    metrics.archive.lost(messages);
  };

  /** One organisation, page by page, until it is where the log is, or fails again. */
  const catchUpOne = async (entry: Entry<BehindRecord>, stop: AbortSignal): Promise<void> => {
    const { key, value, revision } = entry;
    for (let { from } = value; !stop.aborted;) {
      const position = await positions.get(POSITION);
      const { created, firstSequence } = await runsIdentity(log);
      // Then all of it is walked again.
      if (position?.value.log_created !== created) return;
      if (from < firstSequence) {
        // How many are between is not known any more.
        lose(1, { org_id: value.org_id, from, to: firstSequence - 1 });
        from = firstSequence;
      }
      const found = await readPage(log, 'RUNS', from, `runs.${value.org_id}.>`);
      const page = found.filter(({ sequence }) => sequence <= position.value.sequence);
      const last = page.at(-1);
      if (last) {
        const [failed] = await archivePage(page, RUNS_OF_EACH, stop);
        if (failed) return void (await behind.update(key, { ...value, ...failed }, revision));
        from = last.sequence + 1;
        await sleep(pageEveryMs, stop);
      } else if (await passing(() => endBehind(entry, position))) return;
    }
  };

  /** False when the walk has passed more meanwhile. */
  const endBehind = async (
    { key, value: { org_id }, revision }: Entry<BehindRecord>,
    reached: Reached,
  ): Promise<boolean> => {
    if ((await positions.get(POSITION))?.revision !== reached.revision) return false;
    if (!(await behind.eraseAt(key, revision))) return true;
    // Another gateway that still takes it for one that is behind can no longer pass what it leaves out.
    if ((await positions.update(POSITION, reached.value, reached.revision)) === false)
      await fallBehind({ org_id, from: reached.value.sequence + 1, why: TAKEN });
    else logger.info({ org_id }, 'an organisation that was behind is archived again');
    return true;
  };

  return {
    walk: async (stop) => {
      while (!stop.aborted && (await passing(() => walkPage(stop)))) await sleep(pageEveryMs, stop);
    },
    catchUp: async (stop) => {
      await pLimit(BEHIND_AT_ONCE).map(await behind.list(BEHIND), (entry) => catchUpOne(entry, stop));
    },
    passedUpTo: async () => {
      const { value } = await passing(readPosition);
      // By whoever has read it before it left the log.
      await isWritten();
      return value.sequence;
    },
  };
};

/** A log that was restored from an older copy gives the same positions to other messages. */
const isOfThisLog = async (
  log: EventLog,
  { log_created, sequence, hash }: ArchivePosition,
  { created, lastSequence }: RunsIdentity,
): Promise<boolean> => {
  if (log_created !== created || sequence > lastSequence) return false;
  const stored = hash === null ? undefined : await readStored(log, sequence);
  return stored === undefined || hashIn(stored) === hash;
};

/**
 * Whether the archive may have runs that views which begin so would lack: of a log that is another one than was archived, or has lost its
 * end; and any at all, for views that are made again. A store that is away may have some. @throws {LogUnavailable}
 */
export const archiveHasMore =
  (kit: Kit) =>
  async (start: ProjectionStart['kind']): Promise<boolean> => {
    const { log } = kit;
    const found = await archiveRecords(log).positions.get(POSITION);
    if (found && !(await isOfThisLog(log, found.value, await runsIdentity(log)))) return true;
    return start === 'start_again' && hasRuns(openArchiveObjects(kit.config, kit));
  };

const hasRuns = async (objects: ArchiveObjects): Promise<boolean> => {
  try {
    for await (const page of objects.list()) if (page.length > 0) return true;
    return false;
  } catch (error) {
    if (error instanceof ArchiveUnavailable) return true;
    throw error;
  }
};

type Reached = Entry<ArchivePosition>;
type Failed = Omit<BehindRecord, 'since'>;

const hashIn = ({ data = new Uint8Array() }: StoredMessage): string => hashOf(data);

/** Those with a message in their two chains, and the sequence of the last one. Read markers and terms are no part of a history. */
const runsIn = (page: readonly StoredMessage[]) => {
  const runs = new Map<string, { readonly key: RunKey; readonly upTo: number }>();
  for (const { subject, sequence } of page) {
    const key = /^runs\.[^.]+\.[^.]+\.(?:life|webhook)\./.test(subject) ? runOfSubject(subject) : undefined;
    if (key) runs.set(key.run_id, { key, upTo: sequence });
  }
  return runs.values();
};
