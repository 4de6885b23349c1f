import type { StoredMsg } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** The last message under a filter, from the stream's leader: never older than an acknowledgement. */
export const lastMessage = (
  log: EventLog,
  stream: string,
  filter: string,
  withinMs?: number,
): Promise<StoredMsg | null> =>
  callBroker(
    `reading the last message under ${filter}`,
    () => log.jsm.streams.getMessage(stream, { last_by_subj: filter }),
    withinMs,
  );

/** The first message under a filter from a sequence on, from the stream's leader. */
export const nextMessage = (
  log: EventLog,
  stream: string,
  from: number,
  filter: string,
  withinMs?: number,
): Promise<StoredMsg | null> => {
  // The driver types this request for direct reads only; the broker accepts it here as well.
  const query = { seq: from, next_by_subj: filter };
  return callBroker(
    `reading the message under ${filter} from ${from} on`,
    () => log.jsm.streams.getMessage(stream, query),
    withinMs,
  );
};

/** The sequence of the last message under a filter, from the stream's leader; 0 for none. */
export const lastSequence = async (
  log: EventLog,
  stream: string,
  filter: string,
  withinMs?: number,
): Promise<number> => (await lastMessage(log, stream, filter, withinMs))?.seq ?? 0;
