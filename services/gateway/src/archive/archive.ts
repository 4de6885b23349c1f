import type { OrgId } from '@runledger/contracts/ids';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import { respondToArchiveCheck } from '@runledger/request-reply/archive-check';
import { sleep } from '@runledger/resilience/abort';
import pLimit, { type LimitFunction } from 'p-limit';
import { polledClock } from '@runledger/coordination/polled-clock';
import { messagesOf } from '@runledger/event-log/messages/messages-of';
import { Counter, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import { whileProjecting } from '../while-projecting.ts';
import {
  eraseArchived,
  noteErasure,
  removeSegment,
  type NoteErasure,
  type RewriteOptions,
} from './erase-archived.ts';
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
import { openArchiveObjects, type ArchiveConfig, type ArchiveObjects } from './archive-objects.ts';
import {
  archiveRecords,
  logName,
  positionKey,
  archiveSubjectsOf,
  SEGMENTS,
  segmentsOf,
  type ArchiveRecords,
  type SegmentRecord,
} from './archive-records.ts';

interface ArchiveOptions {
  readonly config: ArchiveConfig;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly now: () => Date;
  readonly isProjecting: () => boolean;
  /** Whether an organisation was erased. */
  readonly isErased: (org_id: string) => Promise<boolean>;
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly keptSince: (org_id: string) => Promise<number>;
  readonly metrics: ArchiveMetrics;
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
  /** Removes what an organisation has in the archive. Resolves with how much there was. */
  readonly eraseOrganisation: (org_id: OrgId) => Promise<number>;
}

const HOUR_MS = 3_600_000;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;
/** Removing looks at every record. */
const REMOVE_EVERY = 60;

/** The gateway that projects archives, and erases and removes what is archived, until `open` is disposed of. */
export const openArchive = (options: ArchiveOptions, open: AsyncDisposableStack): Archive => {
  const { config, log, keptSince } = options;
  const objects = openArchiveObjects(config, options);
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
  openUpkeep(options, store, inTurn, open);
  const passing = { log, records, onLost: lostMessages(options) };
  open.use(respondToArchiveCheck(log, (request) => checkSegment({ ...store, log }, request)));
  return {
    read,
    run: archivedRun(read),
    proveFacts: provenFacts(objects),
    runs: (behind) => runsOfPresentLog(options, { ...store, segments }, behind),
    passedUpTo: () => inTurn(() => passedUpTo(passing)),
    noteErasure: noteErasure({ log, records }),
    eraseOrganisation: (org_id) => removeAllSegments({ ...store, log }, org_id),
  };
};

async function* runsOfPresentLog(
  { log, keptSince }: Pick<ArchiveOptions, 'log' | 'keptSince'>,
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
    eraseOrganisation: async () => 0,
  };
};

interface Store {
  readonly records: ArchiveRecords;
  readonly objects: ArchiveObjects;
  readonly onRewritten: (org_id: string) => void;
}

const openUpkeep = (
  options: ArchiveOptions,
  store: Store,
  inTurn: LimitFunction,
  open: AsyncDisposableStack,
): void => {
  const { config, logger, isProjecting, metrics, keptSince, log } = options;
  const afterMs = config.RUNLEDGER_ARCHIVE_AFTER_HOURS * HOUR_MS;
  const pauseMs = Math.max(Math.min(afterMs, LONGEST_PAUSE_MS), SHORTEST_PAUSE_MS);
  const always = (failure: string, everyMs: number, work: (stop: AbortSignal) => Promise<void>): void => {
    const counted = async (stop: AbortSignal): Promise<void> => {
      try {
        await inTurn(() => work(stop));
      } catch (error) {
        if (stop.aborted) return;
        if (!(error instanceof RangeTaken)) metrics.failed();
        throw error;
      }
    };
    open.use(whileProjecting({ failure, everyMs, isProjecting, logger, work: counted }));
  };
  const round = roundOptions(options, store, afterMs);
  always('facts could not be archived', pauseMs, (stop) => archiveRound(round(stop), stop));
  always('deleted runs could not be erased in the archive', pauseMs, (stop) =>
    eraseArchived({ ...store, log }, stop),
  );
  always('old segments of the archive could not be removed', pauseMs * REMOVE_EVERY, (stop) =>
    removeOldSegments({ ...store, keptSince }, stop),
  );
};

const lostMessages =
  ({ logger, metrics }: Pick<ArchiveOptions, 'logger' | 'metrics'>) =>
  (messages: number): void => {
    logger.error({ messages }, 'messages left the log before they were archived');
    metrics.lost(messages);
  };

const roundOptions = (
  { config, log, logger, isErased, metrics }: ArchiveOptions,
  store: Store,
  afterMs: number,
): ((stop: AbortSignal) => ArchiveRoundOptions) => {
  const pageEveryMs = 1_000 / config.RUNLEDGER_ARCHIVE_PAGES_PER_S;
  return (stop) => ({
    ...store,
    log,
    afterMs,
    isErased,
    pace: () => sleep(pageEveryMs, stop),
    onSealed: (segment) => {
      const { org_id, first_sequence, last_sequence, messages, bytes, root } = segment;
      logger.info({ org_id, first_sequence, last_sequence, messages, bytes, root }, 'a segment is archived');
      metrics.sealed(segment);
      store.onRewritten(org_id);
    },
    onLost: lostMessages({ logger, metrics }),
    onWentBack: ({ sequence }) =>
      logger.error(
        { archived_to: sequence },
        'the log is behind its archive: it was restored from an older copy. All of it is archived again',
      ),
  });
};

export interface ArchiveMetrics {
  readonly sealed: (segment: Pick<SegmentRecord, 'messages' | 'bytes'>) => void;
  readonly lost: (messages: number) => void;
  readonly failed: () => void;
}

export const archiveMetrics = (registry: Metrics): ArchiveMetrics => {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `runledger_gateway_archive_${name}_total`, help, registers: [registry] });
  const segments = counter('segments', 'Segments that this gateway wrote and read back.');
  const messages = counter('messages', 'Messages of runs in segments that this gateway wrote.');
  const bytes = counter('bytes', 'Bytes of segments that this gateway wrote.');
  const lost = counter('lost_messages', 'Messages that left the log before they were archived.');
  const failures = counter('failures', 'Rounds of the archive that failed. The service log says why.');
  return {
    sealed: (segment) => {
      segments.inc();
      messages.inc(segment.messages);
      bytes.inc(segment.bytes);
    },
    lost: (count) => lost.inc(count),
    failed: () => failures.inc(),
  };
};

/** How old what is not archived is. It has no value while another gateway projects. */
export const archiveGauges = (
  metrics: Metrics,
  { log, records }: { readonly log: EventLog; readonly records: Pick<ArchiveRecords, 'positions'> },
  isProjecting: () => boolean,
): void => {
  const brokerNow = polledClock(log, 'RUNS');
  const lag = async (): Promise<number | undefined> => {
    const position = await records.positions.get(positionKey(await createdAt(log, 'RUNS')));
    if (!position) return undefined;
    const next = await messagesOf(log).next('>', position.value.sequence + 1);
    return next ? Math.max((await brokerNow()) - Date.parse(next.time), 0) / 1_000 : 0;
  };
  observedGauge(metrics, {
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

interface RemoveOldSegmentsOptions extends RewriteOptions {
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly keptSince: (org_id: string) => Promise<number>;
}

/**
 * Removes the segments in which everything is older than its organisation keeps runs. A run in it was created before its last message.
 * @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const removeOldSegments = async (
  options: RemoveOldSegmentsOptions,
  stop: AbortSignal,
): Promise<void> => {
  const { records, keptSince } = options;
  const since = new Map<string, number>();
  for (let behind = 0; !stop.aborted;) {
    const entry = await records.segments.next(SEGMENTS, behind);
    if (!entry) return;
    behind = entry.revision;
    const { org_id, last_time, removed } = entry.value;
    const kept = since.get(org_id) ?? (await keptSince(org_id));
    since.set(org_id, kept);
    // What a crash left half removed is removed.
    if (removed || Date.parse(last_time) < kept) await removeSegment(options, entry);
  }
};

/** Of an organisation that is erased. Resolves with how many segments and records there were. */
export const removeAllSegments = async (
  options: RewriteOptions & { readonly log: EventLog },
  org_id: string,
): Promise<number> => {
  let removed = 0;
  // One list may not have all of them, and a record names the objects of its segment.
  for (;;) {
    const entries = await options.records.segments.list(segmentsOf(org_id));
    if (entries.length === 0) break;
    for (const entry of entries) await removeSegment(options, entry);
    removed += entries.length;
  }
  return removed + (await eraseSubjects(options.log, 'KV_ARCHIVE', archiveSubjectsOf(org_id)));
};
