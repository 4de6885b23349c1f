import type { DirectBatchOptions, DirectLastFor, StoredMsg } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { TimeoutError } from '@nats-io/transport-node';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { fromStored } from './stored-message.ts';

const WITHIN_MS = 2_000;

/**
 * Reads messages from any replica, in one request; empty when the stream holds no match. Uses the callback form, because the
 * driver's iterator form keeps a subscription for each call.
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
    const started =
      'multi_last' in request
        ? log.jsm.direct.getLastMessagesFor(stream, request)
        : log.jsm.direct.getBatch(stream, request);
    started.then(
      (responses) => {
        stop = (error) => responses.stop(error);
      },
      (error: unknown) => {
        clearTimeout(late);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });

/**
 * The last messages of RUNS on these subjects, from any replica. The replica may not have the newest yet. Each subject is
 * read by a request of its own, so that the broker can limit a reader to its own subjects.
 * @throws {LogUnavailable}
 */
export const lastOfSubjects = async (
  log: EventLog,
  subjects: readonly string[],
): Promise<readonly StoredMessage[]> => {
  const reads = subjects.map((subject) =>
    callBroker(`reading the message under ${subject}`, () =>
      log.jsm.direct.getMessage('RUNS', { last_by_subj: subject }),
    ),
  );
  return (await Promise.all(reads)).flatMap((message) => (message === null ? [] : [fromStored(message)]));
};

/** The response to a batch that begins behind the last message. */
const isNotFound = (error: Error): boolean => 'code' in error && error.code === 404;
