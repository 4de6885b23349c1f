import { allBlobs, parseBlobSubject, type BlobStream } from '@runledger/contracts/blobs';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readToEnd } from '@runledger/event-log/follow/read-to-end';
import type { DeliveredMessage } from '@runledger/event-log/read/stored-message';
import { removeMessage } from '@runledger/event-log/streams/erase-messages';
import type { StoredBlob } from '../store/blob-store.ts';

const WITHIN_MS = 15_000;
/** With headers only, the broker gives the size of the payload here. */
const SIZE = 'Nats-Msg-Size';

interface Part {
  /** The sequence before the first one. */
  readonly behind: number;
  readonly limit: number;
}

/** The next copies in the order of the stream, read without their bytes. @throws {LogUnavailable} */
export const listCopies = async (
  log: EventLog,
  stream: BlobStream,
  { behind, limit }: Part,
): Promise<StoredBlob[]> => {
  const found: StoredBlob[] = [];
  const options = { stream, subjects: [allBlobs(stream)], headersOnly: true, behind, withinMs: WITHIN_MS };
  for await (const message of readToEnd(log, options))
    if (found.push(storedBlob(stream, message)) >= limit) break;
  return found;
};

/** Asks the leader, without the bytes. @throws {LogUnavailable} */
export const hasCopy = async (log: EventLog, stream: BlobStream, subject: string): Promise<boolean> => {
  const { state } = await callBroker(`looking for a blob in ${stream}`, () =>
    log.jsm.streams.info(stream, { subjects_filter: subject }),
  );
  return (state.subjects?.[subject] ?? 0) > 0;
};

/** Erases one copy. A sequence is never used again, so a later copy of the blob stays. @throws {LogUnavailable} */
export const eraseCopy = (log: EventLog, stream: BlobStream, sequence: number): Promise<void> =>
  removeMessage(log, stream, sequence);

const storedBlob = (
  stream: BlobStream,
  { subject, headers, sequence, storedAt }: DeliveredMessage,
): StoredBlob => ({
  ...parseBlobSubject(stream, subject),
  bytes: Number(headers?.get(SIZE) ?? 0),
  storedAt,
  copy: sequence,
});
