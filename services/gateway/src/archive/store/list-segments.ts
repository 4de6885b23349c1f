import type { Entry } from '@runledger/event-log/streams/bucket';
import { ArchiveUnavailable } from './archive-objects.ts';
import { segmentsOf, type ArchiveRecords, type SegmentRecord } from './archive-records.ts';

/** As many as the bucket lists. Of the largest ones they hold 300 GB of facts. */
const MOST_SEGMENTS = 10_000;

/**
 * The segments of an organisation, with those that are being removed. Of more than 10,000 nobody could say that a run is in none.
 * @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const listSegments = async (
  { segments }: Pick<ArchiveRecords, 'segments'>,
  org_id: string,
): Promise<Entry<SegmentRecord>[]> => {
  const found = await segments.list(segmentsOf(org_id));
  if (found.length < MOST_SEGMENTS) return found;
  throw new ArchiveUnavailable(
    `Organisation ${org_id} has ${MOST_SEGMENTS} segments or more, and only so many can be looked at. Keep its runs for fewer days, or raise RUNLEDGER_ARCHIVE_AFTER_HOURS, so that segments are larger.`,
  );
};
