import { LRUCache } from 'lru-cache';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Frame } from '../segment/pack-segment.ts';
import { readIndex, readRunLines } from '../segment/read-segment.ts';
import { mayHaveRun } from '../segment/run-filter.ts';
import { DamagedSegment, type SegmentLine } from '../segment/segment-line.ts';
import { ArchiveUnavailable, type ArchiveObjects } from '../store/archive-objects.ts';
import { listSegments } from '../store/list-segments.ts';
import type { ArchiveRecords, SegmentRecord } from '../store/archive-records.ts';

/** What one segment has of a run. */
export interface ArchivedPart {
  readonly segment: SegmentRecord;
  /** In the order of the log. */
  readonly lines: readonly SegmentLine[];
}

export interface ArchivedSegments {
  /** All that was archived when it is called. @throws {ArchiveUnavailable} @throws {LogUnavailable} */
  find(key: RunKey): Promise<ArchivedPart[]>;
  /** The segments of an organisation are other ones now. */
  forget(org_id: string): void;
}

export interface ArchivedSegmentsOptions {
  readonly records: Pick<ArchiveRecords, 'segments'>;
  /** The revision of how far the present log is archived; undefined when nothing is. */
  readonly revision: () => Promise<number | undefined>;
  readonly objects: Pick<ArchiveObjects, 'find'>;
}

/** For segments that were rewritten by another gateway. New ones are seen by the revision. */
const KNOWN_FOR_MS = 30_000;
const MOST_BYTES = 64 * 1024 ** 2;
const BYTES_OF_RECORD = 1_000;
const MOST_FRAMES = 100_000;

interface Known {
  readonly revision: number | undefined;
  readonly segments: readonly { readonly segment: SegmentRecord; readonly filter: Buffer }[];
}

/** Finds runs in the segments of their organisation: as a rule in one or two of them, and of each a part of its object is read. */
export const archivedSegments = ({
  records,
  revision,
  objects,
}: ArchivedSegmentsOptions): ArchivedSegments => {
  const known = new LRUCache<string, Known>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ segments }) =>
      segments.reduce((sum, { filter }) => sum + filter.length + BYTES_OF_RECORD, BYTES_OF_RECORD),
    ttl: KNOWN_FOR_MS,
  });
  const indices = new LRUCache<string, readonly Frame[]>({
    maxSize: MOST_FRAMES,
    sizeCalculation: (frames) => frames.length + 1,
  });
  const list = async (org_id: string): Promise<Known['segments']> => {
    // Before the list is read, which then has at least that.
    const present = await revision();
    const before = known.get(org_id);
    if (before && before.revision === present) return before.segments;
    const segments = (await listSegments(records, org_id)).flatMap(({ value: segment }) =>
      segment.removed ? [] : [{ segment, filter: Buffer.from(segment.run_filter, 'base64') }],
    );
    known.set(org_id, { revision: present, segments });
    return segments;
  };
  const readFrom = async (segment: SegmentRecord, { run_id }: RunKey): Promise<SegmentLine[] | undefined> => {
    const read = await objects.find(segment.object);
    if (!read) return undefined;
    const frames = indices.get(segment.object) ?? (await readIndex(segment, read));
    indices.set(segment.object, frames);
    return readRunLines(frames, read, run_id);
  };
  const find = async (key: RunKey): Promise<ArchivedPart[] | undefined> => {
    const parts: ArchivedPart[] = [];
    for (const { segment, filter } of await list(key.org_id)) {
      if (!mayHaveRun(filter, key.run_id)) continue;
      const lines = await readFrom(segment, key);
      if (!lines) return undefined;
      if (lines.length > 0) parts.push({ segment, lines });
    }
    return parts;
  };
  return {
    find: async (key) => {
      const parts = await orDamaged(find(key));
      if (parts) return parts;
      // It was rewritten or removed since its record was read.
      known.delete(key.org_id);
      const again = await orDamaged(find(key));
      if (again) return again;
      throw new ArchiveUnavailable(`A segment of organisation ${key.org_id} has no object.`);
    },
    forget: (org_id) => void known.delete(org_id),
  };
};

/** @throws {ArchiveUnavailable} for a segment that is damaged */
export const orDamaged = async <Result>(reading: Promise<Result>): Promise<Result> => {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    throw new ArchiveUnavailable(`A segment is damaged: ${error.message}`, { cause: error });
  }
};
