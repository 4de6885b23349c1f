import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { readIndex, readFrames } from './read-segment.ts';
import { isTombstone, runIdOf, type SegmentLine } from './segment-line.ts';
import { mayHaveRun } from './pack-segment.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import { segmentKey, SEGMENTS, type ArchiveRecords, type SegmentRecord } from './archive-records.ts';
import {
  orDamaged,
  messagesByChain,
  messagesOfLines,
  type ArchivedSegments,
  type ReadRunMessages,
} from './run-messages.ts';
import { recoveredView } from '../views/recovered-view.decide.ts';
import type { StoredView } from '../views/run-view.ts';

/** What the segments of one log have of a run. */
export interface ArchivedRunMessages extends MessagesOfRun {
  readonly key: RunKey;
  /** Some of its messages are erased: it was deleted. */
  readonly isErased: boolean;
}

export interface ArchivedRunsOptions {
  readonly records: ArchiveRecords;
  readonly objects: Pick<ArchiveObjects, 'find'>;
  readonly segments: ArchivedSegments;
}

/**
 * Every run of which the archive has a message of a log behind this sequence, for somebody who derives views from it: each once, with all
 * messages that the archive has of it, at the first segment that has one of those behind. The oldest segments come first. Memory holds a
 * part of one segment, and one record for each.
 * @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export async function* archivedRuns(
  options: ArchivedRunsOptions,
  logName: string,
  behind: number,
): AsyncGenerator<ArchivedRunMessages> {
  const all = await segmentsOf(options, logName);
  const filters = new Map(all.map((segment) => [segment, Buffer.from(segment.run_filter, 'base64')]));
  for (const segment of all) {
    if (segment.last_sequence <= behind) continue;
    const others = all.filter((other) => other !== segment && other.org_id === segment.org_id);
    const mayHave = (other: SegmentRecord, id: string): boolean =>
      mayHaveRun(filters.get(other) ?? Buffer.alloc(0), id);
    for await (const lines of runsOf(options, segment)) {
      if ((lines.at(-1)?.sequence ?? 0) <= behind) continue;
      const key = { org_id: orgId(segment.org_id), run_id: runId(runIdOf(lines[0] ?? { subject: '' })) };
      const shared = others.filter((other) => mayHave(other, key.run_id));
      const parts = shared.length === 0 ? [lines] : await partsOf(options, key, logName);
      // It came with an earlier segment.
      const first = parts.find((part) => (part.at(-1)?.sequence ?? 0) > behind);
      if (first?.[0]?.sequence !== lines[0]?.sequence) continue;
      const together = parts.flat();
      yield {
        key,
        ...messagesByChain(key, messagesOfLines(together)),
        isErased: together.some(isTombstone),
      };
    }
  }
}

/** In the order of their ranges. */
const segmentsOf = async ({ records }: ArchivedRunsOptions, logName: string): Promise<SegmentRecord[]> => {
  const found: SegmentRecord[] = [];
  for (let behind = 0; ;) {
    const entry = await records.segments.next(SEGMENTS, behind);
    if (!entry) return found.toSorted((a, b) => a.first_sequence - b.first_sequence);
    behind = entry.revision;
    if (entry.value.log === logName && !entry.value.removed) found.push(entry.value);
  }
};

/** The lines of each run of a segment. What is erased meanwhile has tombstones in its new object, so the runs are the same, in the same order. */
async function* runsOf(
  { records, objects }: ArchivedRunsOptions,
  known: SegmentRecord,
): AsyncGenerator<readonly SegmentLine[]> {
  let given = 0;
  for (let segment: SegmentRecord | undefined = known; segment;) {
    try {
      let at = 0;
      for await (const run of runsIn(objects, segment)) {
        at += 1;
        if (at <= given) continue;
        given = at;
        yield run;
      }
      return;
    } catch (error) {
      const stored: SegmentRecord | undefined = (await records.segments.get(segmentKey(known)))?.value;
      const present = stored?.removed ? undefined : stored;
      if (!(error instanceof ArchiveUnavailable) || present?.object === segment.object) throw error;
      segment = present;
    }
  }
}

/** They lie together. */
async function* runsIn(
  objects: ArchivedRunsOptions['objects'],
  segment: SegmentRecord,
): AsyncGenerator<readonly SegmentLine[]> {
  const read = await objects.find(segment.object);
  if (!read) throw new ArchiveUnavailable(`The object ${segment.object} of a segment is missing.`);
  let run: SegmentLine[] = [];
  for (const frame of await orDamaged(readIndex(segment, read))) {
    for (const line of await orDamaged(readFrames([frame], read))) {
      if (run[0] && runIdOf(run[0]) !== runIdOf(line)) {
        yield run;
        run = [];
      }
      run.push(line);
    }
  }
  if (run.length > 0) yield run;
}

/** By segment, in the order of their ranges. */
const partsOf = async (
  { segments }: ArchivedRunsOptions,
  key: RunKey,
  logName: string,
): Promise<(readonly SegmentLine[])[]> =>
  (await segments.find(key))
    .filter(({ segment }) => segment.log === logName)
    .toSorted((a, b) => a.segment.first_sequence - b.segment.first_sequence)
    .map(({ lines }) => lines);

/**
 * A run by its facts in the archive and in the log, and by the view that lacks some of them, if there is one; undefined when the archive has
 * nothing of it, or not enough. Of another log its heads are 0, as those of its view. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export type ReadArchivedRun = (
  key: RunKey,
  present: StoredView | undefined,
) => Promise<StoredView | undefined>;

export const archivedRun =
  (read: ReadRunMessages): ReadArchivedRun =>
  async (key, present) => {
    const messages = await read(key);
    if (!messages || messages.archived.length === 0) return undefined;
    const view = recoveredView(messages.isOfOtherLog ? undefined : present, messages);
    return view && messages.isOfOtherLog ? { ...view, head: 0, webhook: { ...view.webhook, head: 0 } } : view;
  };
