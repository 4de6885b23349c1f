import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';

const ALL = { stream: 'RUNS', subjects: ['runs.>'], after: 0 } as const;

/** Every message that RUNS ever held. The log must not lose one of them. */
export interface RecordedLog extends AsyncDisposable {
  readonly messages: readonly StoredMessage[];
}

export const recordLog = async (log: EventLog): Promise<RecordedLog> => {
  const messages: StoredMessage[] = [];
  const following = await follow(log, {
    ...ALL,
    onBatch: async (batch) => void messages.push(...batch.map(copyOf)),
  });
  return { messages, [Symbol.asyncDispose]: () => following[Symbol.asyncDispose]() };
};

/** Every message that RUNS holds now. */
export const readLog = async (log: EventLog): Promise<StoredMessage[]> => {
  const messages: StoredMessage[] = [];
  const caughtUp = Promise.withResolvers<void>();
  await using following = await follow(log, {
    ...ALL,
    onBatch: async (batch) => void messages.push(...batch.map(copyOf)),
    onCaughtUp: caughtUp.resolve,
  });
  void following.failed.then(caughtUp.reject);
  await caughtUp.promise;
  return messages;
};

/** All that is stored, and nothing of how it was delivered: two copies of a message are equal. */
const copyOf = ({
  subject,
  sequence,
  time,
  fence,
  expectedSequence,
  traceparent,
  body,
}: StoredMessage): StoredMessage => ({
  subject,
  sequence,
  time,
  fence,
  expectedSequence,
  body,
  ...(traceparent !== undefined && { traceparent }),
});
