import type { DirectBatchOptions } from '@nats-io/jetstream';
import {
  AUDIT_STREAMS,
  auditStreamOf,
  type AuditAction,
  type AuditStream,
} from '@runledger/contracts/audit-actions';
import { AuditRecord, auditRingOf, auditSubject, ringsOf } from '@runledger/contracts/audit-record';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { newUuid } from '@runledger/contracts/ids';
import { publish } from '../append/publish.ts';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect, type DirectMessage } from '../read/direct-read.ts';
import { streamState } from '../read/leader-read.ts';
import { parseJson } from '../read/stored-message.ts';

const RecordCheck = compiledSchema(AuditRecord);
const utf8 = new TextEncoder();
/** A request waits for its record no longer when it is carried out in any case. */
const STORED_WITHIN_MS = 3_000;

const isRecord = (value: unknown): value is AuditRecord => RecordCheck.Check(value);

export interface StoredAuditRecord extends AuditRecord {
  readonly stream: AuditStream;
  /** Its position in the stream. */
  readonly sequence: number;
  /** The broker's. */
  readonly time: string;
}

/** Stores a record. It is not changed any more, and leaves with its age, or as the oldest of its ring. @throws {LogUnavailable} */
export const storeAuditRecord = async (log: EventLog, record: AuditRecord): Promise<void> => {
  // What does not fit is a mistake of ours, and would be left out by every reader.
  if (!isRecord(record)) throw new TypeError(`An audit record is invalid: ${JSON.stringify(record)}`);
  const ring = auditRingOf(record);
  await publish(log, {
    stream: auditStreamOf(ring),
    subject: auditSubject(record.org_id, ring),
    data: utf8.encode(JSON.stringify(record)),
    id: newUuid(),
    withinMs: STORED_WITHIN_MS,
  });
};

/** Positions in the streams: records below them are wanted. A stream that is left out is wanted from its end. */
export type AuditPosition = Partial<Readonly<Record<AuditStream, number>>>;

export interface AuditRange extends Omit<MessageRange, 'filter' | 'below'> {
  /** Null for the records of no organisation; left out for those of all. */
  readonly org_id?: string | null | undefined;
  readonly action?: AuditAction | undefined;
  readonly below?: AuditPosition | undefined;
}

/** Some records, newest first, perhaps none. What follows is below `below`. */
interface AuditSpan {
  readonly records: readonly StoredAuditRecord[];
  readonly below: AuditPosition;
  /** How many were read for it, of all actions. */
  readonly read: number;
}

/**
 * The records of a range from the newest to the oldest, in spans. Those of the streams are put in the order of their times; of the same
 * millisecond, an outcome that is kept with the rights is newer than a request. Invalid messages are logged and left out.
 * @throws {LogUnavailable}
 */
export async function* readAuditBackwards(log: EventLog, range: AuditRange): AsyncGenerator<AuditSpan> {
  const heads = AUDIT_STREAMS.flatMap((stream) => headsOf(log, stream, range)).toReversed();
  let below = range.below ?? {};
  for (;;) {
    // All of them need a record, or have none left, before the newest one is known.
    const counts = await Promise.all(heads.map(turn));
    const records: StoredAuditRecord[] = [];
    while (heads.every(({ records: left, isOver }) => isOver || left.length > 0)) {
      const newest = heads.reduce((a, b) => (timeOf(b) > timeOf(a) ? b : a));
      const record = newest.records.shift();
      if (record === undefined) break;
      records.push(record);
      below = { ...below, [record.stream]: record.sequence };
    }
    for (const { stream, records: left, from } of heads)
      if (left.length === 0) below = { ...below, [stream]: from };
    yield { records, below, read: counts.reduce((sum, count) => sum + count, 0) };
    if (heads.every(({ records: left, isOver }) => isOver && left.length === 0)) return;
  }
}

/** What was read of a stream and not given yet. */
interface Head {
  readonly stream: AuditStream;
  readonly spans: AsyncIterator<MessageSpan>;
  readonly recordsIn: (message: DirectMessage) => StoredAuditRecord[];
  records: StoredAuditRecord[];
  from: number | undefined;
  isOver: boolean;
}

const headsOf = (log: EventLog, stream: AuditStream, range: AuditRange): Head[] => {
  const { org_id, action, since, until, below } = range;
  const rings = ringsOf(action).filter((ring) => auditStreamOf(ring) === stream);
  const [ring, ...others] = rings;
  if (ring === undefined) return [];
  const filter = auditSubject(org_id, others.length === 0 ? ring : '*');
  const spans = readStreamBackwards(log, stream, { filter, since, until, below: below?.[stream] });
  const recordsIn = (message: DirectMessage): StoredAuditRecord[] =>
    recordsOf(log, stream, message).filter((record) => action === undefined || record.action === action);
  return [{ stream, spans, recordsIn, records: [], from: below?.[stream], isOver: false }];
};

/** Reads on where nothing is left. How many messages it has read. */
const turn = async (head: Head): Promise<number> => {
  if (head.isOver || head.records.length > 0) return 0;
  const { value, done } = await head.spans.next();
  head.isOver = done === true;
  if (done) return 0;
  Object.assign(head, { records: value.messages.flatMap(head.recordsIn), from: value.from });
  return value.messages.length;
};

const timeOf = ({ records: [record] }: Head): string => record?.time ?? '';

/** The subject decides whose record it is. */
const recordsOf = (log: EventLog, stream: AuditStream, message: DirectMessage): StoredAuditRecord[] => {
  const { data, seq: sequence, subject, time } = message;
  const record = parseJson(data);
  if (isRecord(record) && auditSubject(record.org_id, auditRingOf(record)) === subject)
    return [{ ...record, stream, sequence, time: time.toISOString() }];
  log.logger.warn({ sequence, subject }, 'a message of an audit stream is no audit record, and is left out');
  return [];
};

interface MessageRange {
  readonly filter: string;
  /** Stored at this time or later. */
  readonly since?: Date | undefined;
  /** Stored before this time. */
  readonly until?: Date | undefined;
  /** Stored before the message at this position. */
  readonly below?: number | undefined;
}

/** Some messages in a row, newest first, perhaps none. What follows is below `from`. */
interface MessageSpan {
  readonly messages: readonly DirectMessage[];
  readonly from: number;
}

/** The number of messages in one read. */
const BATCH = 128;
const FIRST_WIDTH = 32;
const GROWTH = 4;

/**
 * The messages of a range from the newest to the oldest, in spans. The broker reads forwards only, so each span is read whole: it gets
 * wider while few messages match, and narrower when it holds more than one read. @throws {LogUnavailable}
 */
async function* readStreamBackwards(
  log: EventLog,
  stream: AuditStream,
  { filter, since, until, below }: MessageRange,
): AsyncGenerator<MessageSpan> {
  const { state } = await streamState(log, stream);
  const from = since && (await sequenceAt(log, stream, since));
  const end = until && (await sequenceAt(log, stream, until));
  const first = Math.max(state.first_seq, from ?? 1);
  let top = Math.min(state.last_seq + 1, below ?? Infinity, end ?? Infinity);
  // Where it begins: what is stored from now on is above.
  yield { messages: [], from: top };
  for (let width = FIRST_WIDTH; top > first;) {
    const seq = Math.max(first, top - width);
    const query = { seq, batch: BATCH, next_by_subj: filter };
    const { messages } = await readDirect(log, stream, query, 'reading the audit records');
    const within = messages.filter((message) => message.seq < top);
    if (within.length === BATCH && top - seq > BATCH) {
      width = Math.max(BATCH, Math.floor(width / 2));
      continue;
    }
    yield { messages: within.toReversed(), from: seq };
    top = seq;
    if (within.length < BATCH / GROWTH) width *= GROWTH;
  }
}

/** The position of the first message that was stored at a time or later; infinite when there is none. */
const sequenceAt = async (log: EventLog, stream: AuditStream, time: Date): Promise<number> => {
  // Before about 1678 the broker would take it for another time.
  if (time.getTime() < 0) return 0;
  const query: DirectBatchOptions = { start_time: time, batch: 1 };
  const { messages } = await readDirect(log, stream, query, 'looking for the audit records of a time');
  const [first] = messages;
  // Of a time that it cannot represent, the broker gives any message.
  return first !== undefined && first.time >= time ? first.seq : Infinity;
};
