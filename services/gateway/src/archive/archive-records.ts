import { hash } from 'node:crypto';
import { Type, type Static } from 'typebox';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Bucket, type Entry } from '@runledger/event-log/streams/bucket';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import type { PackedSegment } from './pack-segment.ts';
import { readWholeSegment } from './read-segment.ts';
import { DamagedSegment } from './segment-line.ts';

const Position = Type.Integer({ minimum: 0 });
const Time = Type.String();
const Hash = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' });

/** The messages of one organisation in a range of a log, and where they are. Times are the broker's. */
export const SegmentRecord = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  /** Which log: of another one, positions mean nothing here. */
  log: Type.String(),
  /** Of the range, which other organisations have a segment of too. */
  first_sequence: Position,
  last_sequence: Position,
  /** Of its own messages. */
  first_time: Time,
  last_time: Time,
  messages: Position,
  runs: Position,
  /** Which runs it may have. */
  run_filter: Type.String(),
  object: Hash,
  /** Of the object, with the index at its end. */
  bytes: Position,
  index_bytes: Position,
  index_sha256: Hash,
  /** In hexadecimal. */
  sha256: Type.String(),
  root: Hash,
  /** Of the messages, those that are erased or have lost a part of their content. */
  erased: Position,
  /** Objects that it had before, until they are removed. */
  former: Type.Array(Hash),
  /** It is being removed, and nobody reads it any more. */
  removed: Type.Boolean(),
});
export type SegmentRecord = Readonly<Static<typeof SegmentRecord>>;

/** How far a log is archived. */
export const ArchivePosition = Type.Object({
  /** Of RUNS; a stream that was created anew has another one. */
  log_created: Type.String(),
  /** One more each time that the log went back behind this position, by a restore from an older copy. */
  branch: Position,
  /** Everything up to it is in segments that were read back, or had left the log before. */
  sequence: Position,
  /** The broker's time of that message, and its leaf; null before the first. */
  time: Type.Union([Time, Type.Null()]),
  leaf: Type.Union([Hash, Type.Null()]),
  /** The range that somebody is archiving, up to this sequence. Whoever goes on with it adds a number. */
  sealing: Type.Union([Type.Object({ last_sequence: Position, tries: Position }), Type.Null()]),
});
export type ArchivePosition = Readonly<Static<typeof ArchivePosition>>;

/** A run that was deleted, or the outputs of one, of which segments may still hold the content. */
export const ArchivedErasure = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  run_id: Type.String({ format: 'uuid' }),
  what: Type.Enum(['run', 'outputs']),
  log: Type.String(),
  /** Of the fact that says so: what came before it is erased. */
  sequence: Position,
  /** Segments up to this position do not have it any more; null before the first look. */
  swept_to: Type.Union([Position, Type.Null()]),
});
export type ArchivedErasure = Readonly<Static<typeof ArchivedErasure>>;

export interface ArchiveRecords {
  readonly segments: Bucket<SegmentRecord>;
  readonly positions: Bucket<ArchivePosition>;
  readonly erasures: Bucket<ArchivedErasure>;
}

/** One bucket, and three kinds of keys. Every method may throw LogUnavailable. */
export const archiveRecords = (log: EventLog): ArchiveRecords => ({
  segments: openBucket(log, 'ARCHIVE', SegmentRecord),
  positions: openBucket(log, 'ARCHIVE', ArchivePosition),
  erasures: openBucket(log, 'ARCHIVE', ArchivedErasure),
});

export const SEGMENTS = 'segments';
export const ERASURES = 'erasures';

export const segmentKey = ({
  org_id,
  log,
  first_sequence,
}: Pick<SegmentRecord, 'org_id' | 'log' | 'first_sequence'>): string =>
  `${segmentsOf(org_id)}.${log}.${first_sequence}`;

export const segmentsOf = (org_id: string): string => `${SEGMENTS}.${org_id}`;
const erasuresOf = (org_id: string): string => `${ERASURES}.${org_id}`;
export const erasureKey = ({
  org_id,
  run_id,
  what,
}: Pick<ArchivedErasure, 'org_id' | 'run_id' | 'what'>): string => `${erasuresOf(org_id)}.${run_id}.${what}`;

/** Everything that the bucket has of an organisation. */
export const archiveSubjectsOf = (org_id: string): string => `$KV.ARCHIVE.*.${org_id}.>`;

export const positionKey = (logCreated: string): string => `positions.${digitsOf(logCreated)}`;

/** The name of a log in records. */
export const logName = ({ log_created, branch }: Pick<ArchivePosition, 'log_created' | 'branch'>): string =>
  `${digitsOf(log_created)}-${branch}`;

const digitsOf = (time: string): string => time.replaceAll(/\D/g, '');

/** As many as the bucket lists. Of the largest ones they hold 300 GB of facts. */
const MOST_SEGMENTS = 10_000;

/**
 * The segments of an organisation, with those that are being removed. Of more than 10,000 nobody could say that a run is in none.
 * @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
export const listSegments = async (
  { segments }: ArchiveRecords,
  org_id: string,
): Promise<Entry<SegmentRecord>[]> => {
  const found = await segments.list(segmentsOf(org_id));
  if (found.length < MOST_SEGMENTS) return found;
  throw new ArchiveUnavailable(
    `Organisation ${org_id} has ${MOST_SEGMENTS} segments or more, and only so many can be looked at. Keep its runs for fewer days, or raise RUNLEDGER_ARCHIVE_AFTER_HOURS, so that segments are larger.`,
  );
};

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
  objects: ArchiveObjects,
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
