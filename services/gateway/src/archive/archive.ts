import type { OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import { respondToArchiveCheck } from '@runledger/request-reply/archive-check';
import { sleep } from '@runledger/resilience/abort';
import pLimit, { type LimitFunction } from 'p-limit';
import { whileProjecting } from '../projection/while-projecting.ts';
import type { ArchiveMetrics } from './archive-metrics.ts';
import { eraseArchived, noteErasure, type NoteErasure } from './erasing/erase-archived.ts';
import { removeAllSegments, removeOldSegments } from './erasing/remove-old-segments.ts';
import { archivedRun, type ReadArchivedRun } from './reading/archived-run.ts';
import { checkSegment } from './reading/check-segment.ts';
import { archivedRuns, type ArchivedRunMessages, type ArchivedRunsOptions } from './reading/archived-runs.ts';
import { archivedSegments } from './reading/archived-segments.ts';
import { provenFacts, type ProveFacts } from './reading/proven-facts.ts';
import { firstTime, runMessages, type ReadRunMessages } from './reading/run-messages.ts';
import { archiveRound, passedUpTo, type ArchiveRoundOptions } from './sealing/archive-round.ts';
import { RangeTaken } from './sealing/seal-range.ts';
import type { ArchiveConfig } from './store/archive-config.ts';
import { openArchiveObjects, type ArchiveObjects } from './store/archive-objects.ts';
import { archiveRecords, logName, positionKey, type ArchiveRecords } from './store/archive-records.ts';

export interface ArchiveOptions {
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
