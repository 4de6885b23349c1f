import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { parseLifecycleSubject, lifecycleFilter, type RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/read/stream-identity';
import { readAllOfRun, type MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import type { ReceiptSegment } from '@runledger/contracts/http/receipts';
import { merklePath } from '@runledger/event-log/read/merkle';
import { LRUCache } from 'lru-cache';
import { messageOfLine, leafOfLine, DamagedSegment, type SegmentLine } from './segment-line.ts';
import {
  erasureKey,
  logName,
  positionKey,
  listSegments,
  type ArchivedErasure,
  type ArchiveRecords,
  type SegmentRecord,
} from './archive-records.ts';
import { readWholeSegment, readIndex, readRunLines } from './read-segment.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import { mayHaveRun, type Frame } from './pack-segment.ts';

/** All that the log and the archive have of a run. */
interface ReadMessages extends MessagesOfRun {
  /** They are of another log, in whose positions nobody can name a moment of this one. */
  readonly isOfOtherLog: boolean;
  /** What segments have of it. */
  readonly archived: readonly ArchivedPart[];
}

/**
 * Undefined for more messages than a run can have. A run that is older than its organisation keeps runs, or whose deletion the log does
 * not have any more, has none. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export type ReadRunMessages = (key: RunKey) => Promise<ReadMessages | undefined>;

interface RunMessagesOptions {
  readonly log: EventLog;
  /** Undefined where nothing is archived. */
  readonly archive:
    | {
        readonly segments: ArchivedSegments;
        readonly records: ArchiveRecords;
        /** Runs that were created before are not kept: milliseconds since 1970. */
        readonly keptSince: (org_id: RunKey['org_id']) => Promise<number>;
      }
    | undefined;
}

/** A run has some hundreds of messages at most: more are forged. */
const MOST = 2_500;

export const runMessages =
  ({ log, archive }: RunMessagesOptions): ReadRunMessages =>
  async (key) => {
    const stored = await readAllOfRun(log, key);
    if (!stored) return undefined;
    const only = { ...stored, isOfOtherLog: false, archived: [] };
    if (!archive || beginsWithRun(stored)) return only;
    const erasure = await archive.records.erasures.get(erasureKey({ ...key, what: 'run' }));
    const found = behindErasure(await archive.segments.find(key), erasure?.value);
    if (found.length === 0) return only;
    const created = await createdAt(log, 'RUNS');
    const position = await archive.records.positions.get(positionKey(created));
    const name = position && logName(position.value);
    const merged = merge(key, stored, found, name);
    if (merged.life.length + merged.webhook.length > MOST) return undefined;
    const isForgotten = stored.life.length + stored.webhook.length === 0;
    if (isForgotten && firstTime(merged) < (await archive.keptSince(key.org_id))) return only;
    return merged;
  };

/** Of a run that was deleted, what segments have before that is about to be erased. */
const behindErasure = (
  found: readonly ArchivedPart[],
  erasure: ArchivedErasure | undefined,
): readonly ArchivedPart[] =>
  erasure === undefined
    ? found
    : found.flatMap(({ segment, lines }) => {
        const left = lines.filter(
          ({ sequence }) => segment.log === erasure.log && sequence >= erasure.sequence,
        );
        return left.length === 0 ? [] : [{ segment, lines: left }];
      });

/** Then the log has all of it. */
const beginsWithRun = ({ life: [first] }: MessagesOfRun): boolean =>
  first !== undefined && parseLifecycleSubject(first.subject)?.fact === 'queued';

/** Milliseconds since 1970. */
export const firstTime = ({ life, webhook }: MessagesOfRun): number =>
  Math.min(...[...life, ...webhook].map(({ time }) => Date.parse(time)), Infinity);

/**
 * Segments of this log continue what the log has. Those of another one count only when this one has nothing of the run: of several, the
 * one that has its latest message.
 */
const merge = (
  key: RunKey,
  stored: MessagesOfRun,
  found: readonly ArchivedPart[],
  present: string | undefined,
): ReadMessages => {
  const ofPresent = found.filter(({ segment }) => segment.log === present);
  const isStored = stored.life.length + stored.webhook.length > 0;
  if (isStored || ofPresent.length > 0)
    return { ...together(key, stored, ofPresent), isOfOtherLog: false, archived: ofPresent };
  const latest = found.toSorted((a, b) => compare(a.segment.last_time, b.segment.last_time)).at(-1);
  const parts = found.filter(({ segment }) => segment.log === latest?.segment.log);
  return { ...together(key, stored, parts), isOfOtherLog: true, archived: parts };
};

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const together = (key: RunKey, stored: MessagesOfRun, parts: readonly ArchivedPart[]): MessagesOfRun => {
  const all = new Map<number, StoredMessage>();
  for (const { lines } of parts)
    for (const message of messagesOfLines(lines)) all.set(message.sequence, message);
  // What the log has is whole, and may have been withheld since.
  for (const message of [...stored.life, ...stored.webhook]) all.set(message.sequence, message);
  return messagesByChain(key, [...all.values()]);
};

/** Without those that are erased. */
export const messagesOfLines = (lines: readonly SegmentLine[]): StoredMessage[] =>
  lines.flatMap((line) => messageOfLine(line) ?? []);

/** In the order of the log. */
export const messagesByChain = (key: RunKey, all: readonly StoredMessage[]): MessagesOfRun => {
  const ordered = all.toSorted((a, b) => a.sequence - b.sequence);
  const prefix = `runs.${key.org_id}.${key.run_id}`;
  return {
    life: ordered.filter(({ subject }) => subject.startsWith(`${prefix}.life.`)),
    webhook: ordered.filter(({ subject }) => subject.startsWith(`${prefix}.webhook.`)),
  };
};

/**
 * The paths from the lifecycle facts of a run to the Merkle roots of their segments. Each segment is read as a whole, since a path has hashes of
 * other messages. @throws {ArchiveUnavailable}
 */
export type ProveFacts = (key: RunKey, parts: readonly ArchivedPart[]) => Promise<ReceiptSegment[]>;

export const provenFacts =
  (objects: ArchiveObjects): ProveFacts =>
  async (key, parts) => {
    const proven: ReceiptSegment[] = [];
    for (const part of parts) {
      const { first_sequence, last_sequence, messages, root } = part.segment;
      const facts = await pathsOf(objects, key, part);
      if (facts.length > 0) proven.push({ first_sequence, last_sequence, messages, root, facts });
    }
    return proven;
  };

const pathsOf = async (
  objects: ArchiveObjects,
  key: RunKey,
  { segment, lines }: ArchivedPart,
): Promise<ReceiptSegment['facts']> => {
  const fence = lifecycleFilter(key);
  // Only what is fenced as a fact: a receipt says nothing of other messages.
  const wanted = new Set(lines.flatMap((line) => (line.fence === fence ? [line.sequence] : [])));
  if (wanted.size === 0) return [];
  const read = await objects.find(segment.object);
  if (!read) throw new ArchiveUnavailable(`The object ${segment.object} of a segment is missing.`);
  const all = await orDamaged(readWholeSegment(segment, read));
  const leaves = all.map(leafOfLine);
  return all.flatMap(({ sequence }, index) =>
    wanted.has(sequence) ? [{ sequence, index, path: merklePath(leaves, index) }] : [],
  );
};

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

interface ArchivedSegmentsOptions {
  readonly records: ArchiveRecords;
  /** The revision of how far the present log is archived; undefined when nothing is. */
  readonly revision: () => Promise<number | undefined>;
  readonly objects: ArchiveObjects;
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
