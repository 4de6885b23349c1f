import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge, runsIdentity } from '@runledger/event-log/read/stream-identity';
import { messagesOf, readStored } from '@runledger/event-log/read/run-messages';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { logName, positionKey, type ArchivePosition, type ArchiveRecords } from './archive-records.ts';
import { leafOfMessage } from './segment-line.ts';
import {
  gatherRange,
  RangeTaken,
  sealRange,
  type GatheredRange,
  type GatherOptions,
  type ClaimedRange,
  type SealOptions,
} from './seal-range.ts';

export interface ArchiveRoundOptions extends Pick<GatherOptions, 'log' | 'pace'>, SealOptions {
  readonly records: ArchiveRecords;
  /** Milliseconds after which facts are archived, at the latest after twice as many. */
  readonly afterMs: number;
  /** Messages left the log before they were archived. */
  readonly onLost: (messages: number) => void;
  /** The log is behind what is archived: it was restored from an older copy. */
  readonly onWentBack: (from: ArchivePosition) => void;
}

/** Bytes of messages that are in memory at once. A range that has more ends there. */
const MOST_BYTES = 32 * 1024 ** 2;

/** A part of the age of the log, so that there is time to repair what keeps facts from being archived. */
const MOST_OF_LOG_AGE = 1 / 8;

/** Archives what is old enough, range by range. @throws {LogUnavailable} @throws {ArchiveUnavailable} @throws {RangeTaken} */
export const archiveRound = async (options: ArchiveRoundOptions, stop: AbortSignal): Promise<void> => {
  for (let again = true; again && !stop.aborted;) again = await archiveRange(options, stop);
};

/** False when nothing else is old enough. */
const archiveRange = async (options: ArchiveRoundOptions, stop: AbortSignal): Promise<boolean> => {
  const { log, afterMs: chosenMs } = options;
  const { now, maxAgeMs } = await readLogAge(log);
  const afterMs = Math.min(chosenMs, maxAgeMs * MOST_OF_LOG_AGE);
  const entry = await passLost(options, await readPosition(options));
  const { sequence, sealing } = entry.value;
  const from = sequence + 1;
  if (!sealing) {
    const first = await messagesOf(log).next('>', from);
    if (!first || Date.parse(first.time) > now - 2 * afterMs) return false;
  }
  const { lastSequence } = await runsIdentity(log, sequence);
  // What was claimed is the same range again, so that its segments are the same.
  const extent = sealing
    ? { upTo: sealing.last_sequence, olderThan: Infinity, mostBytes: Infinity }
    : { upTo: lastSequence, olderThan: now - afterMs, mostBytes: MOST_BYTES };
  const range = await gatherRange({ ...options, ...extent, from, stop });
  if (!range) return !stop.aborted && sealing !== null && giveUpRange(options, entry, sealing.last_sequence);
  const claim = await claimRange(options, entry, range.last.sequence);
  if (!(await sealRange(options, claim, range, stop))) return false;
  if (range.lost > 0) options.onLost(range.lost);
  await advance(options, claim, entry.value, range);
  return true;
};

/** Where the archive of the present log is. @throws {LogUnavailable} */
const readPosition = async (options: ArchiveRoundOptions): Promise<Entry<ArchivePosition>> => {
  const { log, records, onWentBack } = options;
  const { created, lastSequence, firstSequence } = await runsIdentity(log);
  const key = positionKey(created);
  const found = await records.positions.get(key);
  if (!found) {
    // What has left the log before is not lost by the archive.
    const sequence = Math.max(firstSequence - 1, 0);
    await records.positions.create(key, { ...BEGINNING, log_created: created, branch: 0, sequence });
    return readPosition(options);
  }
  const { value, revision } = found;
  if (!(await isOfThisLog(log, value, lastSequence))) {
    onWentBack(value);
    // It may hold facts that another one had at the same positions, so all of it is archived, under another name.
    const begun = {
      ...BEGINNING,
      log_created: created,
      branch: value.branch + 1,
      sequence: firstSequence - 1,
    };
    if ((await records.positions.update(key, begun, revision)) === false) throw new RangeTaken(TAKEN);
    return readPosition(options);
  }
  return found;
};

const BEGINNING = { time: null, leaf: null, sealing: null };
const TAKEN = 'Another gateway archives the log.';

/** A log that was restored from an older copy gives the same positions to other messages. */
const isOfThisLog = async (
  log: EventLog,
  { sequence, leaf }: ArchivePosition,
  lastSequence: number,
): Promise<boolean> => {
  if (leaf === null) return true;
  if (sequence > lastSequence && sequence > (await runsIdentity(log, sequence)).lastSequence) return false;
  const stored = await readStored(log, sequence);
  return stored === undefined || leafOfMessage(stored) === leaf;
};

/** From then on nobody else stores a record of this range. */
const claimRange = async (
  { records }: ArchiveRoundOptions,
  { key, value, revision }: Entry<ArchivePosition>,
  last_sequence: number,
): Promise<ClaimedRange> => {
  const tries = value.sealing ? value.sealing.tries + 1 : 0;
  const claimed = await records.positions.update(
    key,
    { ...value, sealing: { last_sequence, tries } },
    revision,
  );
  if (claimed === false) throw new RangeTaken(TAKEN);
  const position = { key, revision: claimed };
  return { log: logName(value), first_sequence: value.sequence + 1, last_sequence, tries, position };
};

type Passing = Pick<ArchiveRoundOptions, 'log' | 'onLost'> & {
  readonly records: ArchiveRecords;
};

/**
 * What has left the log since nobody archives any more. Whoever has read it, but has not claimed its range, will be refused the claim, so
 * that it never comes into the archive later. @throws {LogUnavailable} @throws {RangeTaken}
 */
const passLost = async (
  { log, records, onLost }: Passing,
  entry: Entry<ArchivePosition>,
): Promise<Entry<ArchivePosition>> => {
  const { key, value, revision } = entry;
  const last = (await runsIdentity(log, value.sequence)).firstSequence - 1;
  if (value.sealing || value.sequence >= last) return entry;
  const passed = { ...value, sequence: last, leaf: null };
  const moved = await records.positions.update(key, passed, revision);
  if (moved === false) throw new RangeTaken(TAKEN);
  onLost(last - value.sequence);
  return { ...entry, value: passed, revision: moved };
};

/** Up to which sequence the archive has everything that it will ever have; 0 before it begins. @throws {LogUnavailable} @throws {RangeTaken} */
export const passedUpTo = async (options: Passing): Promise<number> => {
  const { created } = await runsIdentity(options.log);
  const entry = await options.records.positions.get(positionKey(created));
  return entry ? (await passLost(options, entry)).value.sequence : 0;
};

/** The log has lost all of the range that somebody claimed. */
const giveUpRange = async (
  { records, onLost }: ArchiveRoundOptions,
  { key, value, revision }: Entry<ArchivePosition>,
  last_sequence: number,
): Promise<boolean> => {
  onLost(last_sequence - value.sequence);
  const after = { ...value, sequence: last_sequence, leaf: null, sealing: null };
  if ((await records.positions.update(key, after, revision)) === false) throw new RangeTaken(TAKEN);
  return true;
};

const advance = async (
  { records }: ArchiveRoundOptions,
  { position: { key, revision } }: ClaimedRange,
  before: ArchivePosition,
  { last }: GatheredRange,
): Promise<void> => {
  const after = { ...before, ...last, sealing: null };
  if ((await records.positions.update(key, after, revision)) === false) throw new RangeTaken(TAKEN);
};
