import { readWholeSegment } from '../segment/read-segment.ts';
import { packSegment } from '../segment/pack-segment.ts';
import { DamagedSegment } from '../segment/segment-line.ts';
import { erasuresFor, withoutErased, type ErasedRuns } from './erase-lines.ts';
import { mayHaveRun } from '../segment/run-filter.ts';
import { describedBy, verifyObject } from '../store/verify-object.ts';
import { ArchiveUnavailable, objectKey, type ArchiveObjects } from '../store/archive-objects.ts';
import { listSegments } from '../store/list-segments.ts';
import type { ArchiveRecords, SegmentRecord } from '../store/archive-records.ts';
import type { Entry } from '@runledger/event-log/streams/bucket';

export interface RewriteOptions {
  readonly records: Pick<ArchiveRecords, 'segments'>;
  readonly objects: ArchiveObjects;
  /** What was read of the archive before may be different now. */
  readonly onRewritten: (org_id: string) => void;
}

/**
 * Takes what is erased out of the segments of an organisation: a tombstone has the place of each message, so the Merkle root of a
 * segment stays as it was. May be repeated after any interruption. @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const eraseFromSegments = async (
  options: RewriteOptions,
  org_id: string,
  erased: ErasedRuns,
): Promise<void> => {
  if (erased.size === 0) return;
  for (const entry of await listSegments(options.records, org_id)) {
    if (entry.value.removed) continue;
    const filter = Buffer.from(entry.value.run_filter, 'base64');
    const runs = [...erased].filter(([run_id]) => mayHaveRun(filter, run_id));
    const left = erasuresFor(entry.value, new Map(runs));
    if (left.size > 0) await rewrite(options, entry, left);
    else await removeFormer(options, entry);
  }
};

/**
 * The record names the new object as one to remove before it is written, so a crash leaves nothing that nobody knows, and of two gateways one
 * goes on. It is read back before it takes the place of the former one, which is named until it is removed: so a reader always finds one of them.
 */
const rewrite = async (
  options: RewriteOptions,
  entry: Entry<SegmentRecord>,
  erased: ErasedRuns,
): Promise<void> => {
  const { records, objects, onRewritten } = options;
  const { key, value: segment, revision } = entry;
  const lines = await readLines(objects, segment);
  const kept = lines.map((line) => withoutErased(line, erased));
  if (kept.every((line, at) => line === lines[at])) return removeFormer(options, entry);
  const packed = await packSegment(kept);
  const object = objectKey('rewritten', segment.object, revision);
  const claim = { ...segment, former: [...segment.former, object] };
  const claimed = await records.segments.update(key, claim, revision);
  // Another gateway rewrites it too: the next round looks again.
  if (claimed === false) return undefined;
  await objects.put(object, packed.bytes);
  await verifyObject(objects, object, packed);
  const count = kept.filter(({ leaf }) => leaf !== undefined).length;
  const former = [...segment.former, segment.object];
  const value = { ...segment, ...describedBy(packed), object, erased: count, former };
  const updated = await records.segments.update(key, value, claimed);
  if (updated === false) return objects.remove(object);
  onRewritten(segment.org_id);
  await removeFormer(options, { ...entry, value, revision: updated });
};

/** Objects whose content is erased. */
const removeFormer = async (
  { records, objects }: RewriteOptions,
  { key, value, revision }: Entry<SegmentRecord>,
): Promise<void> => {
  if (value.former.length === 0) return;
  for (const object of value.former) await objects.remove(object);
  await records.segments.update(key, { ...value, former: [] }, revision);
};

/** All lines of a segment, after every check. @throws {ArchiveUnavailable} */
const readLines = async (
  objects: Pick<ArchiveObjects, 'find'>,
  segment: SegmentRecord,
): Promise<Awaited<ReturnType<typeof readWholeSegment>>> => {
  const read = await objects.find(segment.object);
  if (!read) throw new ArchiveUnavailable(`The object ${segment.object} of a segment is missing.`);
  try {
    return await readWholeSegment(segment, read);
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    throw new ArchiveUnavailable(`The segment ${segment.object} is damaged: ${error.message}`, {
      cause: error,
    });
  }
};

/** Removes segments altogether: their objects, and then their records. @throws {ArchiveUnavailable} @throws {LogUnavailable} */
export const removeSegment = async (
  { records, objects, onRewritten }: RewriteOptions,
  { key, value, revision }: Entry<SegmentRecord>,
): Promise<void> => {
  const removed = await records.segments.update(key, { ...value, removed: true }, revision);
  if (removed === false) return;
  onRewritten(value.org_id);
  for (const object of [...value.former, value.object]) await objects.remove(object);
  await records.segments.eraseAt(key, removed);
};
