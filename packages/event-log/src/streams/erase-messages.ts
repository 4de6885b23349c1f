import { JetStreamApiError } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** Erases all messages of a stream whose subjects match. Resolves with how many there were. @throws {LogUnavailable} */
export const eraseSubjects = async (log: EventLog, stream: string, filter: string): Promise<number> => {
  const { purged } = await callBroker(`erasing ${filter} of ${stream}`, () =>
    log.jsm.streams.purge(stream, { filter }),
  );
  return purged;
};

/** Removes a message from a stream, unless it is already removed. @throws {LogUnavailable} */
export const removeMessage = async (log: EventLog, stream: string, sequence: number): Promise<void> => {
  await callBroker(`removing message ${sequence} of ${stream}`, async () => {
    try {
      return await log.jsm.streams.deleteMessage(stream, sequence, false);
    } catch (error) {
      if (isRemoved(error)) return true;
      throw error;
    }
  });
};

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const NO_MESSAGE: ReadonlySet<number> = new Set([10037, 10043]);
const DELETE_FAILED = 10057;

/** The message was removed, or replaced by a newer one on its subject. A general error code says so only in its text. */
const isRemoved = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (NO_MESSAGE.has(error.code) || (error.code === DELETE_FAILED && /no message found/.test(error.message)));
