import type { DirectBatchOptions } from '@nats-io/jetstream';
import {
  AuditRecord,
  auditFilter,
  auditSubject,
  type AuditFilter,
} from '@runledger/contracts/audit/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect, type DirectMessage } from '../messages/direct-read.ts';
import { streamState } from '../messages/leader-state.ts';
import { publish } from '../messages/publish.ts';
import { parseJson } from '../messages/stored-message.ts';

const STREAM = 'AUDIT';
const RecordCheck = compiledSchema(AuditRecord);
const utf8 = new TextEncoder();

const isRecord = (value: unknown): value is AuditRecord => RecordCheck.Check(value);

export interface StoredAuditRecord extends AuditRecord {
  /** Its position in the stream. */
  readonly sequence: number;
  /** The broker's. */
  readonly time: string;
}

/** Stores a record. It is not changed or removed any more before its age. @throws {LogUnavailable} @throws {LogFull} */
export const storeAuditRecord = async (
  log: EventLog,
  record: AuditRecord,
  withinMs?: number,
): Promise<void> => {
  // What does not fit is a mistake of ours, and would be left out by every reader.
  if (!isRecord(record)) throw new TypeError(`An audit record is invalid: ${JSON.stringify(record)}`);
  const data = utf8.encode(JSON.stringify(record));
  await publish(log, {
    stream: STREAM,
    subject: auditSubject(record),
    data,
    id: newUuid(),
    ...(withinMs === undefined ? {} : { withinMs }),
  });
};

export interface AuditRange extends AuditFilter {
  /** Stored at this time or later. */
  readonly since?: Date | undefined;
  /** Stored before this time. */
  readonly until?: Date | undefined;
  /** Stored before the record at this position. */
  readonly below?: number | undefined;
}

/** Some records in a row, newest first, perhaps none. What follows is below `from`. */
export interface AuditSpan {
  readonly records: readonly StoredAuditRecord[];
  readonly from: number;
}

/** The number of messages in one read. */
const BATCH = 128;
const FIRST_WIDTH = 32;
const GROWTH = 4;

/**
 * The records of a range from the newest to the oldest, in spans. The broker reads forwards only, so each span is read whole: it gets
 * wider while few records match, and narrower when it holds more than one read. Invalid messages are logged and left out.
 * @throws {LogUnavailable}
 */
export async function* readAuditBackwards(log: EventLog, range: AuditRange): AsyncGenerator<AuditSpan> {
  const { state } = await streamState(log, STREAM);
  const from = range.since && (await sequenceAt(log, range.since));
  const until = range.until && (await sequenceAt(log, range.until));
  const first = Math.max(state.first_seq, from ?? 1);
  const filter = auditFilter(range);
  let top = Math.min(state.last_seq + 1, range.below ?? Infinity, until ?? Infinity);
  for (let width = FIRST_WIDTH; top > first;) {
    const seq = Math.max(first, top - width);
    const query = { seq, batch: BATCH, next_by_subj: filter };
    const { messages } = await readDirect(log, STREAM, query, 'reading the audit records');
    const within = messages.filter((message) => message.seq < top);
    if (within.length === BATCH && top - seq > BATCH) {
      width = Math.max(BATCH, Math.floor(width / 2));
      continue;
    }
    yield { records: within.toReversed().flatMap((message) => recordsIn(log, message)), from: seq };
    top = seq;
    if (within.length < BATCH / GROWTH) width *= GROWTH;
  }
}

/** The position of the first record that was stored at a time or later; infinite when there is none. */
const sequenceAt = async (log: EventLog, time: Date): Promise<number> => {
  // Before about 1678 the broker would take it for another time.
  if (time.getTime() < 0) return 0;
  const query: DirectBatchOptions = { start_time: time, batch: 1 };
  const { messages } = await readDirect(log, STREAM, query, 'looking for the audit records of a time');
  const [first] = messages;
  // Of a time that it cannot represent, the broker gives any message.
  return first !== undefined && first.time >= time ? first.seq : Infinity;
};

/** The subject decides whose record it is. */
const recordsIn = (log: EventLog, { data, seq, subject, time }: DirectMessage): StoredAuditRecord[] => {
  const record = parseJson(data);
  if (isRecord(record) && auditSubject(record) === subject)
    return [{ ...record, sequence: seq, time: time.toISOString() }];
  log.logger.warn({ sequence: seq, subject }, 'a message in AUDIT is no audit record, and is left out');
  return [];
};

/** Of the stream, for one organisation; a record has some 700 bytes. */
const PART = 1 / 8;
const RECORD_BYTES = 1024;

/** How many more records fit into the part of an organisation; of no organisation, that of one action. @throws {LogUnavailable} */
export const auditShare = async (
  log: EventLog,
  { org_id, action }: Pick<AuditRecord, 'org_id' | 'action'>,
): Promise<{ left: number }> => {
  const options = { subjects_filter: auditFilter(org_id === null ? { org_id, action } : { org_id }) };
  const { state, config } = await callBroker('counting the audit records of an organisation', () =>
    log.jsm.streams.info(STREAM, options),
  );
  const stored = Object.values(state.subjects ?? {}).reduce((sum, each) => sum + each, 0);
  const most = config.max_bytes > 0 ? Math.floor((config.max_bytes * PART) / RECORD_BYTES) : Infinity;
  return { left: most - stored };
};
