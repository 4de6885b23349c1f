import { runOfSubject } from '@runledger/contracts/subjects/run-subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Hash } from '@runledger/event-log/archive/merkle';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readPages } from '@runledger/event-log/read/read-pages';
import { leafOfMessage } from '../segment/leaf-of-message.ts';
import { lineOf, type SegmentLine } from '../segment/segment-line.ts';

/** What one organisation has in a range of the log. */
interface GatheredLines {
  readonly lines: SegmentLine[];
  readonly first_time: string;
  last_time: string;
}

export interface GatheredRange {
  readonly organisations: ReadonlyMap<string, GatheredLines>;
  /** The last message of the range. */
  readonly last: { readonly sequence: number; readonly time: string; readonly leaf: Hash };
  /** Messages that the log did not have any more. */
  readonly lost: number;
}

export interface GatherOptions {
  readonly log: EventLog;
  /** The first sequence of the range, and the last one that it may have. */
  readonly from: number;
  readonly upTo: number;
  /** It ends before the first message that is younger, in milliseconds since 1970. */
  readonly olderThan: number;
  /** Bytes of messages after which it ends too. */
  readonly mostBytes: number;
  /** Called after each page, before the next one is requested. */
  readonly pace: () => Promise<void>;
  readonly stop: AbortSignal;
}

/** Beside the payload: subject, fence, time. */
const BYTES_OF_LINE = 300;

/** Reads a range of the log, in its order; undefined when it has no message, or after a stop. @throws {LogUnavailable} */
export const gatherRange = async (options: GatherOptions): Promise<GatheredRange | undefined> => {
  const { log, from, upTo, olderThan, mostBytes, pace, stop } = options;
  const organisations = new Map<string, GatheredLines>();
  let last: StoredMessage | undefined;
  let [due, bytes, lost] = [from, 0, 0];
  reading: for await (const page of readPages(log, 'RUNS', { from, upTo, pace })) {
    if (stop.aborted) return undefined;
    for (const message of page) {
      if (Date.parse(message.time) > olderThan || bytes > mostBytes) break reading;
      lost += message.sequence - due;
      due = message.sequence + 1;
      bytes += BYTES_OF_LINE + (message.data?.length ?? 0);
      gather(organisations, message);
      last = message;
    }
  }
  if (!last) return undefined;
  const { sequence, time } = last;
  return { organisations, last: { sequence, time, leaf: leafOfMessage(last) }, lost };
};

const gather = (organisations: Map<string, GatheredLines>, message: StoredMessage): void => {
  const run = archivedRunOf(message.subject);
  if (!run) return;
  const { time } = message;
  const own = organisations.get(run.org_id) ?? { lines: [], first_time: time, last_time: time };
  organisations.set(run.org_id, own);
  own.lines.push(lineOf(message));
  own.last_time = time;
};

/** Of messages in the two chains of a run. Read markers and terms are no part of a history. */
const archivedRunOf = (subject: string): ReturnType<typeof runOfSubject> =>
  /^runs\.[^.]+\.[^.]+\.(?:life|webhook)\./.test(subject) ? runOfSubject(subject) : undefined;
