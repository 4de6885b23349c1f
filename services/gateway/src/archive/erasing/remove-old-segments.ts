import type { EventLog } from '@runledger/event-log/connect/event-log';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import { archiveSubjectsOf, SEGMENTS, segmentsOf } from '../store/archive-records.ts';
import { removeSegment, type RewriteOptions } from './rewrite-segments.ts';

export interface RemoveOldSegmentsOptions extends RewriteOptions {
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
