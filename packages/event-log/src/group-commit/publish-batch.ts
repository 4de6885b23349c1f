import { randomBytes } from 'node:crypto';
import { isJsonObject } from '@runledger/contracts/json';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { EventLog } from '../connect/event-log.ts';
import { parseJson } from '../messages/stored-message.ts';
import type { FencedPublication } from './fenced-publication.ts';

/** Longer than the first try of a single message: a batch is some flushes of the disk, behind those of the appends before it. */
const COMMITTED_WITHIN_MS = 1_000;

/**
 * Stores messages of one stream together, each with its own id and on its own fence, or none of them. Returns the sequence of the
 * first. The others follow it, in this order, without a gap.
 * @throws when the broker refuses the batch, or does not respond: then each message may or may not be stored
 */
export const publishBatch = async (
  log: EventLog,
  messages: readonly FencedPublication[],
): Promise<number> => {
  const batch = newBatchId();
  const before = messages.slice(0, -1);
  const last = messages.at(-1);
  if (!last) throw new TypeError('A batch needs a message.');
  before.forEach((message, index) => {
    log.nc.publish(message.subject, message.data, { headers: headersOf(message, batch, index + 1) });
  });
  const commit = headersOf(last, batch, messages.length);
  commit.set('Nats-Batch-Commit', '1');
  const response = await log.nc.request(last.subject, last.data, {
    timeout: COMMITTED_WITHIN_MS,
    headers: commit,
  });
  const acknowledged = parseJson(response.data);
  const { stream, batch: committed, count, seq } = isJsonObject(acknowledged) ? acknowledged : {};
  const isCommitted = stream === last.stream && committed === batch && count === messages.length;
  if (isCommitted && typeof seq === 'number') return seq - messages.length + 1;
  throw new Error(`The broker did not commit a batch: ${response.string().slice(0, 300)}`);
};

/** Unlike that of any open batch. It is stored with each message, so it is short. */
const newBatchId = (): string => randomBytes(9).toString('base64url');

/** As the driver writes them. It has batches of its own, which drop fences and ids, and the reason of a refusal (3.4.0). */
const headersOf = (
  { id, fence, traceparent }: FencedPublication,
  batch: string,
  position: number,
): MsgHdrs => {
  const made = headers();
  if (traceparent !== undefined) made.set('traceparent', traceparent);
  made.set('Nats-Msg-Id', id);
  made.set('Nats-Expected-Last-Subject-Sequence', String(fence.sequence));
  made.set('Nats-Expected-Last-Subject-Sequence-Subject', fence.filter);
  made.set('Nats-Batch-Id', batch);
  made.set('Nats-Batch-Sequence', String(position));
  return made;
};
