import type { DirectBatchOptions } from '@nats-io/jetstream';
import type { AuditStream } from '@runledger/contracts/audit/audit-rings';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect, type DirectMessage } from '../messages/direct-read.ts';
import { streamState } from '../messages/leader-state.ts';

export interface MessageRange {
  readonly filter: string;
  /** Stored at this time or later. */
  readonly since?: Date | undefined;
  /** Stored before this time. */
  readonly until?: Date | undefined;
  /** Stored before the message at this position. */
  readonly below?: number | undefined;
}

/** Some messages in a row, newest first, perhaps none. What follows is below `from`. */
export interface MessageSpan {
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
export async function* readStreamBackwards(
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
