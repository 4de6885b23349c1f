import { hash } from 'node:crypto';
import type { PackedSegment } from '../segment/pack-segment.ts';
import { readWholeSegment } from '../segment/read-segment.ts';
import { DamagedSegment } from '../segment/segment-line.ts';
import type { SegmentRecord } from './archive-records.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';

type Described = Pick<
  SegmentRecord,
  'bytes' | 'index_bytes' | 'index_sha256' | 'sha256' | 'root' | 'messages' | 'runs' | 'run_filter'
>;

/** What a record says of the object. */
export const describedBy = ({ bytes, ...described }: PackedSegment): Described => ({
  ...described,
  bytes: bytes.length,
});

/** Reads it as a reader would: the log loses these messages, and then nothing else has them. @throws {ArchiveUnavailable} */
export const verifyObject = async (
  objects: Pick<ArchiveObjects, 'find'>,
  object: string,
  written: PackedSegment,
): Promise<void> => {
  const read = await objects.find(object);
  if (!read) throw new ArchiveUnavailable(`The store does not have ${object}, which it has just taken.`);
  const bytes = await read({ offset: 0, bytes: written.bytes.length });
  if (hash('sha256', bytes, 'hex') !== written.sha256)
    throw new ArchiveUnavailable(`The store gave back other bytes of ${object} than it has taken.`);
  const from = async ({ offset, bytes: length }: { readonly offset: number; readonly bytes: number }) =>
    bytes.subarray(offset, offset + length);
  await readWholeSegment(describedBy(written), from).catch((error: unknown) => {
    if (error instanceof DamagedSegment) throw new ArchiveUnavailable(error.message, { cause: error });
    throw error;
  });
};
