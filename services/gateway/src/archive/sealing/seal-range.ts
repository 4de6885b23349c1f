import type { Write } from '@runledger/event-log/streams/bucket';
import { inOrderOfSegment, packSegment, type PackedSegment } from '../segment/pack-segment.ts';
import { objectKey, type ArchiveObjects } from '../store/archive-objects.ts';
import { describedBy, verifyObject } from '../store/verify-object.ts';
import { segmentKey, type ArchiveRecords, type SegmentRecord } from '../store/archive-records.ts';
import type { GatheredRange } from './gather-range.ts';

export interface SealOptions {
  readonly records: Pick<ArchiveRecords, 'segments'>;
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
  { organisations }: Pick<GatheredRange, 'organisations'>,
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
