import type { Write } from '@runledger/event-log/streams/bucket';
import { runOfSubject } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Hash } from '@runledger/event-log/read/merkle';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readPages } from '@runledger/event-log/read/read-pages';
import { inOrderOfSegment, packSegment, type PackedSegment } from './pack-segment.ts';
import { objectKey, type ArchiveObjects } from './archive-objects.ts';
import {
  describedBy,
  verifyObject,
  segmentKey,
  type ArchiveRecords,
  type SegmentRecord,
} from './archive-records.ts';
import { leafOfMessage, lineOf, type SegmentLine } from './segment-line.ts';

export interface SealOptions {
  readonly records: ArchiveRecords;
  readonly objects: ArchiveObjects;
  /** Whether an organisation was erased: then nothing of it is archived any more. */
  readonly isErased: (org_id: string) => Promise<boolean>;
  /** Called with each new segment. */
  readonly onSealed: (segment: SegmentRecord) => void;
}

/** A range of a log that this process alone archives, as long as the position has this revision. */
export interface ClaimedRange {
  readonly log: string;
  readonly first_sequence: number;
  readonly last_sequence: number;
  /** How many began with it before, and may have left objects. */
  readonly tries: number;
  readonly position: Write;
}

/** Another gateway goes on with the range, so this one has nothing to do. */
export class RangeTaken extends Error {
  override readonly name = 'RangeTaken';
  readonly code = 'range_taken';
}

/**
 * Writes the segments of a range, one for each organisation, and reads each back before its record is stored: only then it counts.
 * May be repeated after any interruption. @throws {ArchiveUnavailable} @throws {LogUnavailable} @throws {RangeTaken}
 */
export const sealRange = async (
  options: SealOptions,
  claim: ClaimedRange,
  { organisations }: GatheredRange,
  stop: AbortSignal,
): Promise<boolean> => {
  const { records, isErased } = options;
  for (const [org_id, { lines, first_time, last_time }] of organisations) {
    if (stop.aborted) return false;
    const about = { org_id, ...rangeOf(claim), first_time, last_time };
    const sealed = await records.segments.get(segmentKey(about));
    const sealedObject = sealed?.value.object;
    await removeEarlier(options, claim, org_id, sealedObject);
    if (sealed || (await isErased(org_id))) continue;
    await sealOne(options, claim, about, await packSegment(inOrderOfSegment(lines)));
  }
  return true;
};

type About = Pick<
  SegmentRecord,
  'org_id' | 'log' | 'first_sequence' | 'last_sequence' | 'first_time' | 'last_time'
>;

const rangeOf = ({ log, first_sequence, last_sequence }: ClaimedRange) => ({
  log,
  first_sequence,
  last_sequence,
});

const objectOf = (
  org_id: string,
  { log, first_sequence, last_sequence }: ClaimedRange,
  tried: number,
): string => objectKey(org_id, log, first_sequence, last_sequence, tried);

/** A process that was killed may have left an object without a record. */
const removeEarlier = async (
  { objects }: SealOptions,
  claim: ClaimedRange,
  org_id: string,
  recorded: string | undefined,
): Promise<void> => {
  for (let tried = 0; tried < claim.tries; tried += 1) {
    const object = objectOf(org_id, claim, tried);
    if (object !== recorded) await objects.remove(object);
  }
};

const sealOne = async (
  { records, objects, onSealed }: SealOptions,
  claim: ClaimedRange,
  about: About,
  packed: PackedSegment,
): Promise<void> => {
  const object = objectOf(about.org_id, claim, claim.tries);
  await objects.put(object, packed.bytes);
  await verifyObject(objects, object, packed);
  const record = { ...about, ...describedBy(packed), object, erased: 0, former: [], removed: false };
  const stored = await records.segments.putWhile(segmentKey(about), record, claim.position);
  if (stored === false) {
    await objects.remove(object);
    throw new RangeTaken('Another gateway archives this range of the log.');
  }
  onSealed(record);
};

/** What one organisation has in a range of the log. */
interface GatheredLines {
  readonly lines: SegmentLine[];
  readonly first_time: string;
  last_time: string;
}

export interface GatheredRange {
  readonly organisations: ReadonlyMap<string, GatheredLines>;
  /** The last message of the range. */
  readonly last: { readonly sequence: number; readonly time: string; readonly leaf: Hash };
  /** Messages that the log did not have any more. */
  readonly lost: number;
}

export interface GatherOptions {
  readonly log: EventLog;
  /** The first sequence of the range, and the last one that it may have. */
  readonly from: number;
  readonly upTo: number;
  /** It ends before the first message that is younger, in milliseconds since 1970. */
  readonly olderThan: number;
  /** Bytes of messages after which it ends too. */
  readonly mostBytes: number;
  /** Called after each page, before the next one is requested. */
  readonly pace: () => Promise<void>;
  readonly stop: AbortSignal;
}

/** Beside the payload: subject, fence, time. */
const BYTES_OF_LINE = 300;

/** Reads a range of the log, in its order; undefined when it has no message, or after a stop. @throws {LogUnavailable} */
export const gatherRange = async (options: GatherOptions): Promise<GatheredRange | undefined> => {
  const { log, from, upTo, olderThan, mostBytes, pace, stop } = options;
  const organisations = new Map<string, GatheredLines>();
  let last: StoredMessage | undefined;
  let [due, bytes, lost] = [from, 0, 0];
  reading: for await (const page of readPages(log, 'RUNS', { from, upTo, pace })) {
    if (stop.aborted) return undefined;
    for (const message of page) {
      if (Date.parse(message.time) > olderThan || bytes > mostBytes) break reading;
      lost += message.sequence - due;
      due = message.sequence + 1;
      bytes += BYTES_OF_LINE + (message.data?.length ?? 0);
      gather(organisations, message);
      last = message;
    }
  }
  if (!last) return undefined;
  const { sequence, time } = last;
  return { organisations, last: { sequence, time, leaf: leafOfMessage(last) }, lost };
};

const gather = (organisations: Map<string, GatheredLines>, message: StoredMessage): void => {
  const run = archivedRunOf(message.subject);
  if (!run) return;
  const { time } = message;
  const own = organisations.get(run.org_id) ?? { lines: [], first_time: time, last_time: time };
  organisations.set(run.org_id, own);
  own.lines.push(lineOf(message));
  own.last_time = time;
};

/** Of messages in the two chains of a run. Read markers and terms are no part of a history. */
const archivedRunOf = (subject: string): ReturnType<typeof runOfSubject> =>
  /^runs\.[^.]+\.[^.]+\.(?:life|webhook)\./.test(subject) ? runOfSubject(subject) : undefined;
