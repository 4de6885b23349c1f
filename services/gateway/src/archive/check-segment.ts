import { hash } from 'node:crypto';
import type {
  ArchiveCheckRequest,
  ArchiveCheckResponse,
  CheckedSegment,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Hash } from '@runledger/event-log/read/merkle';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { runOfSubject } from '@runledger/contracts/events/subjects';
import { readWholeSegment } from './read-segment.ts';
import { DamagedSegment, leafOfLine, leafOfMessage, type SegmentLine } from './segment-line.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import {
  logName,
  positionKey,
  SEGMENTS,
  type ArchiveRecords,
  type SegmentRecord,
} from './archive-records.ts';

export interface CheckOptions {
  readonly log: EventLog;
  readonly records: ArchiveRecords;
  readonly objects: ArchiveObjects;
}

const MOST_PROBLEMS = 100;

/**
 * Reads the next segment behind a revision as a whole: hashes, number of messages, Merkle root, and on request each message against the
 * log. What is wrong is in the response. @throws {LogUnavailable}
 */
export const checkSegment = async (
  options: CheckOptions,
  { behind, compare }: ArchiveCheckRequest,
): Promise<ArchiveCheckResponse> => {
  const entry = await options.records.segments.next(SEGMENTS, behind);
  if (!entry) return { segment: null };
  const { value, revision } = entry;
  const { org_id, first_sequence, last_sequence, messages, root, removed } = value;
  const checked = { revision, org_id, first_sequence, last_sequence, messages, root };
  // It goes while others look at it.
  if (removed) return { segment: { ...checked, compared: 0, problems: [] } };
  const found = await wholeOrProblem(options, value);
  if (typeof found === 'string') return { segment: { ...checked, compared: 0, problems: [found] } };
  return { segment: { ...checked, ...(compare ? await compared(options, value, found) : NOT_COMPARED) } };
};

const NOT_COMPARED = { compared: 0, problems: [] };

const wholeOrProblem = async (
  { objects }: CheckOptions,
  segment: SegmentRecord,
): Promise<SegmentLine[] | string> => {
  try {
    const read = await objects.find(segment.object);
    if (!read) return 'its object is missing';
    const bytes = await read({ offset: 0, bytes: segment.bytes });
    if (hash('sha256', bytes, 'hex') !== segment.sha256)
      return 'its object has other bytes than were written';
    return await readWholeSegment(segment, async ({ offset, bytes: length }) =>
      bytes.subarray(offset, offset + length),
    );
  } catch (error) {
    if (error instanceof DamagedSegment || error instanceof ArchiveUnavailable) return error.message;
    throw error;
  }
};

/** What the log still has of the range, message by message. */
const compared = async (
  { log, records }: CheckOptions,
  { org_id, log: name, first_sequence, last_sequence }: SegmentRecord,
  lines: readonly SegmentLine[],
): Promise<Pick<CheckedSegment, 'compared' | 'problems'>> => {
  const { created, firstSequence } = await runsIdentity(log);
  const position = await records.positions.get(positionKey(created));
  if (!position || logName(position.value) !== name || last_sequence < firstSequence) return NOT_COMPARED;
  const from = Math.max(first_sequence, firstSequence);
  const leaves = new Map<number, Hash>(
    lines.filter(({ sequence }) => sequence >= from).map((line) => [line.sequence, leafOfLine(line)]),
  );
  const problems: string[] = [];
  let count = 0;
  const pages = readPages(log, 'RUNS', { from, upTo: last_sequence });
  for await (const page of pages) {
    for (const message of page) {
      if (runOfSubject(message.subject)?.org_id !== org_id) continue;
      const leaf = leaves.get(message.sequence);
      leaves.delete(message.sequence);
      count += 1;
      if (leaf === undefined) problems.push(`it lacks message ${message.sequence}, which the log has`);
      else if (leaf !== leafOfMessage(message))
        problems.push(`message ${message.sequence} is another one than in the log`);
    }
  }
  // The oldest may have left the log while it was read.
  const { firstSequence: now } = await runsIdentity(log);
  for (const sequence of leaves.keys())
    if (sequence >= now) problems.push(`it has message ${sequence}, which the log does not have`);
  return { compared: count, problems: problems.slice(0, MOST_PROBLEMS) };
};
