import type { JsMsg } from '@nats-io/jetstream';
import { allBlobs, parseBlobSubject, type BlobStream } from '@runledger/contracts/blobs';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { pullInOrder } from '@runledger/event-log/follow/pull-in-order';
import { removeMessage } from '@runledger/event-log/messages/remove-message';
import { within } from '@runledger/resilience/within';
import type { StoredBlob } from '../store/blob-store.ts';

const WITHIN_MS = 15_000;
const NANOS_IN_MS = 1_000_000;
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
  const done = Promise.withResolvers<undefined>();
  await using pulling = await pullInOrder(log, {
    stream,
    subjects: [allBlobs(stream)],
    headersOnly: true,
    begin: () => ({
      deliver_policy: 'by_start_sequence',
      opt_start_seq: (found.at(-1)?.copy ?? behind) + 1,
    }),
    take: async (messages) => {
      found.push(...messages.slice(0, limit - found.length).map((message) => storedBlob(stream, message)));
      if (found.length >= limit) done.resolve(undefined);
    },
    onCaughtUp: () => done.resolve(undefined),
  });
  const failure = await within(WITHIN_MS, Promise.race([done.promise, pulling.failed]), () => {
    throw new LogUnavailable(`The blobs of ${stream} could not be listed within ${WITHIN_MS} ms. Try again.`);
  });
  if (failure) throw failure;
  return found;
};

/** Erases one copy. A sequence is never used again, so a later copy of the blob stays. @throws {LogUnavailable} */
export const eraseCopy = (log: EventLog, stream: BlobStream, sequence: number): Promise<void> =>
  removeMessage(log, stream, sequence);

const storedBlob = (stream: BlobStream, { subject, headers, seq, info }: JsMsg): StoredBlob => ({
  ...parseBlobSubject(stream, subject),
  bytes: Number(headers?.get(SIZE) ?? 0),
  storedAt: new Date(info.timestampNanos / NANOS_IN_MS),
  copy: seq,
});
