import type { DirectBatchOptions, DirectLastFor, StoredMsg } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/transport-node';
import type { EventLog } from './event-log.ts';

const WITHIN_MS = 2_000;

/**
 * Reads messages from any replica, in one request; none when the stream holds none of them. In callback form, since
 * the driver's iterator form keeps a subscription for each call.
 */
export const readDirect = (
  log: EventLog,
  stream: string,
  query: DirectLastFor | DirectBatchOptions,
): Promise<StoredMsg[]> =>
  new Promise((resolve, reject) => {
    const messages: StoredMsg[] = [];
    let stop = (_error: Error): void => undefined;
    const late = setTimeout(() => {
      const error = new TimeoutError();
      stop(error);
      reject(error);
    }, WITHIN_MS);
    const callback = (done: { err?: Error } | null, message: StoredMsg): void => {
      if (done === null) {
        messages.push(message);
        return;
      }
      clearTimeout(late);
      if (done.err && !isNotFound(done.err)) reject(done.err);
      else resolve(messages);
    };
    const request = { ...query, callback };
    const asked =
      'multi_last' in request
        ? log.jsm.direct.getLastMessagesFor(stream, request)
        : log.jsm.direct.getBatch(stream, request);
    asked.then(
      (answers) => {
        stop = (error) => answers.stop(error);
      },
      (error: unknown) => {
        clearTimeout(late);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });

/** How the broker answers a batch that begins behind the last message. */
const isNotFound = (error: Error): boolean => 'code' in error && error.code === 404;
