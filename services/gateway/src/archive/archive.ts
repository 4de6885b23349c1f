import type { OrgId } from '@runledger/contracts/ids';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/read/stream-identity';
import { respondToArchiveCheck } from '@runledger/request-reply/archive-check';
import { sleep } from '@runledger/resilience/abort';
import pLimit, { type LimitFunction } from 'p-limit';
import { polledClock } from '@runledger/coordination/broker-clock';
import { messagesOf } from '@runledger/event-log/read/run-messages';
import { observedGauge } from '@runledger/service-kit/metrics';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import type { Kit } from '../kit.ts';
import { erasureRecords } from '../records/erasure.ts';
import { eraseArchived, noteErasure, removeSegment, type NoteErasure, type Store } from './erase-archived.ts';
import {
  archivedRun,
  archivedRuns,
  type ReadArchivedRun,
  type ArchivedRunMessages,
  type ArchivedRunsOptions,
} from './archived-runs.ts';
import { checkSegment } from './check-segment.ts';
import {
  archivedSegments,
  provenFacts,
  firstTime,
  runMessages,
  type ProveFacts,
  type ReadRunMessages,
} from './run-messages.ts';
import { archiveRound, passedUpTo, type ArchiveRoundOptions } from './archive-round.ts';
import { RangeTaken } from './seal-range.ts';
import { openArchiveObjects } from './archive-objects.ts';
import {
  archiveRecords,
  logName,
  positionKey,
  archiveSubjectsOf,
  SEGMENTS,
  segmentsOf,
} from './archive-records.ts';
import type { KeptSince } from '../records/retention.ts';

/** Each begins where it stopped, and ends soon after the signal. One at a time, since all of them write the same records. */
interface ArchiveUpkeep {
  /** Between two rounds, in milliseconds. */
  readonly pauseMs: number;
  readonly archiveFacts: (stop: AbortSignal) => Promise<void>;
  readonly eraseDeleted: (stop: AbortSignal) => Promise<void>;
  readonly removeOld: (stop: AbortSignal) => Promise<void>;
}

/** What facts become when they leave the log. Without an archive its reads know the log alone. */
export interface Archive {
  readonly read: ReadRunMessages;
  readonly run: ReadArchivedRun;
  readonly proveFacts: ProveFacts;
  /**
   * Every run of which the archive has a message of the present log behind this sequence, if its organisation keeps it, with all that the
   * archive has of it: for somebody who makes views.
   */
  readonly runs: (behind: number) => AsyncIterable<ArchivedRunMessages>;
  /** Everything up to this sequence of the log is archived, or has left it without that: then nobody archives it any more. 0 for nothing. */
  readonly passedUpTo: () => Promise<number>;
  readonly noteErasure: NoteErasure;
  /** What is to be done again and again; nothing without an archive. */
  readonly upkeep: ArchiveUpkeep | undefined;
  /** Removes what an organisation has in the archive. Resolves with how much there was. */
  readonly eraseOrganisation: (org_id: OrgId) => Promise<number>;
}

const HOUR_MS = 3_600_000;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;
/** `open` closes it. */
export const openArchive = (kit: Kit, keptSince: KeptSince, open: AsyncDisposableStack): Archive => {
  const { config, log } = kit;
  const objects = openArchiveObjects(config, kit);
  if (!objects) return logAlone(log);
  open.use(objects);
  const records = archiveRecords(log);
  const position = async () => records.positions.get(positionKey(await createdAt(log, 'RUNS')));
  const revision = async () => (await position())?.revision;
  const segments = archivedSegments({ records, objects, revision });
  const read = runMessages({ log, archive: { segments, records, keptSince } });
  const store = { records, objects, onRewritten: (org_id: string) => segments.forget(org_id) };
  // All of them write the same records: side by side, one would leave its work to the next round.
  const inTurn = pLimit(1);
  const passing = { log, records, onLost: lostMessages(kit) };
  open.use(respondToArchiveCheck(log, (request) => checkSegment({ ...store, log }, request)));
  return {
    read,
    run: archivedRun(read),
    proveFacts: provenFacts(objects),
    runs: (behind) => runsOfPresentLog(log, keptSince, { ...store, segments }, behind),
    passedUpTo: () => inTurn(() => passedUpTo(passing)),
    noteErasure: noteErasure(log, records),
    upkeep: upkeepOf(kit, store, keptSince, inTurn),
    eraseOrganisation: (org_id) => removeAllSegments(log, store, org_id),
  };
};

async function* runsOfPresentLog(
  log: EventLog,
  keptSince: KeptSince,
  options: ArchivedRunsOptions & Pick<Store, 'records'>,
  behind: number,
): AsyncGenerator<ArchivedRunMessages> {
  const position = await options.records.positions.get(positionKey(await createdAt(log, 'RUNS')));
  if (!position) return;
  for await (const run of archivedRuns(options, logName(position.value), behind)) {
    // A segment goes a little later than its oldest runs.
    if (firstTime(run) >= (await keptSince(run.key.org_id))) yield run;
  }
}

const logAlone = (log: EventLog): Archive => {
  const read = runMessages({ log, archive: undefined });
  return {
    read,
    run: archivedRun(read),
    proveFacts: async () => [],
    runs: async function* () {},
    passedUpTo: async () => Infinity,
    noteErasure: async () => undefined,
    upkeep: undefined,
    eraseOrganisation: async () => 0,
  };
};

const upkeepOf = (kit: Kit, store: Store, keptSince: KeptSince, inTurn: LimitFunction): ArchiveUpkeep => {
  const { config, metrics, log } = kit;
  const afterMs = config.RUNLEDGER_ARCHIVE_AFTER_HOURS * HOUR_MS;
  const round = roundOptions(kit, store, afterMs);
  const counted =
    (work: (stop: AbortSignal) => Promise<void>) =>
    async (stop: AbortSignal): Promise<void> => {
      try {
        await inTurn(() => work(stop));
      } catch (error) {
        if (stop.aborted) return;
        if (!(error instanceof RangeTaken)) metrics.archive.failed();
        throw error;
      }
    };
  return {
    pauseMs: Math.max(Math.min(afterMs, LONGEST_PAUSE_MS), SHORTEST_PAUSE_MS),
    archiveFacts: counted((stop) => archiveRound(round(stop), stop)),
    eraseDeleted: counted((stop) => eraseArchived(log, store, stop)),
    removeOld: counted((stop) => removeOldSegments(store, keptSince, stop)),
  };
};

const lostMessages =
  ({ logger, metrics }: Kit) =>
  (messages: number): void => {
    logger.error({ messages }, 'messages left the log before they were archived');
    metrics.archive.lost(messages);
  };

const roundOptions = (
  kit: Kit,
  store: Store,
  afterMs: number,
): ((stop: AbortSignal) => ArchiveRoundOptions) => {
  const { config, log, logger, metrics } = kit;
  const erasures = erasureRecords(log);
  const pageEveryMs = 1_000 / config.RUNLEDGER_ARCHIVE_PAGES_PER_S;
  return (stop) => ({
    ...store,
    log,
    afterMs,
    isErased: async (org_id) => (await erasures.find(org_id)) !== undefined,
    pace: () => sleep(pageEveryMs, stop),
    onSealed: (segment) => {
      const { org_id, first_sequence, last_sequence, messages, bytes, root } = segment;
      logger.info({ org_id, first_sequence, last_sequence, messages, bytes, root }, 'a segment is archived');
      metrics.archive.sealed(segment);
      store.onRewritten(org_id);
    },
    onLost: lostMessages(kit),
    onWentBack: ({ sequence }) =>
      logger.error(
        { archived_to: sequence },
        'the log is behind its archive: it was restored from an older copy. All of it is archived again',
      ),
  });
};

/** How old what is not archived is. It has no value while another gateway projects. */
export const archiveGauges = ({ log, metrics }: Kit, isProjecting: () => boolean): void => {
  const records = archiveRecords(log);
  const brokerNow = polledClock(log, 'RUNS');
  const lag = async (): Promise<number | undefined> => {
    const position = await records.positions.get(positionKey(await createdAt(log, 'RUNS')));
    if (!position) return undefined;
    const next = await messagesOf(log).next('>', position.value.sequence + 1);
    return next ? Math.max((await brokerNow()) - Date.parse(next.time), 0) / 1_000 : 0;
  };
  observedGauge(metrics.registry, {
    name: 'runledger_gateway_archive_lag_seconds',
    help: 'Age of the first message of the log that is not archived, at the gateway that keeps the views.',
    value: async () => {
      if (!isProjecting()) return undefined;
      return lag().catch((error: unknown) => {
        if (error instanceof LogUnavailable) return undefined;
        throw error;
      });
    },
  });
};

/**
 * Removes the segments in which everything is older than its organisation keeps runs. A run in it was created before its last message.
 * @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const removeOldSegments = async (
  store: Store,
  keptSince: KeptSince,
  stop: AbortSignal,
): Promise<void> => {
  const { records } = store;
  const since = new Map<string, number>();
  for (let behind = 0; !stop.aborted;) {
    const entry = await records.segments.next(SEGMENTS, behind);
    if (!entry) return;
    behind = entry.revision;
    const { org_id, last_time, removed } = entry.value;
    const kept = since.get(org_id) ?? (await keptSince(org_id));
    since.set(org_id, kept);
    // What a crash left half removed is removed.
    if (removed || Date.parse(last_time) < kept) await removeSegment(store, entry);
  }
};

/** Of an organisation that is erased. Resolves with how many segments and records there were. */
export const removeAllSegments = async (log: EventLog, store: Store, org_id: string): Promise<number> => {
  let removed = 0;
  // One list may not have all of them, and a record names the objects of its segment.
  for (;;) {
    const entries = await store.records.segments.list(segmentsOf(org_id));
    if (entries.length === 0) break;
    for (const entry of entries) await removeSegment(store, entry);
    removed += entries.length;
  }
  return removed + (await eraseSubjects(log, 'KV_ARCHIVE', archiveSubjectsOf(org_id)));
};
