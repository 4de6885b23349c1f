import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';

const EVERYTHING = { stream: 'RUNS', subjects: ['runs.>'], after: 0 } as const;

/** Everything that was ever seen in RUNS, as it came: what the log must not lose again. */
export interface SeenLog extends AsyncDisposable {
  readonly messages: readonly StoredMessage[];
}

export const recordLog = async (log: EventLog): Promise<SeenLog> => {
  const messages: StoredMessage[] = [];
  const following = await follow(log, {
    ...EVERYTHING,
    onBatch: async (batch) => void messages.push(...batch),
  });
  return { messages, [Symbol.asyncDispose]: () => following[Symbol.asyncDispose]() };
};

/** Everything that RUNS holds now. */
export const readLog = async (log: EventLog): Promise<StoredMessage[]> => {
  const messages: StoredMessage[] = [];
  const caughtUp = Promise.withResolvers<void>();
  await using following = await follow(log, {
    ...EVERYTHING,
    onBatch: async (batch) => void messages.push(...batch),
    onCaughtUp: caughtUp.resolve,
  });
  await Promise.race([caughtUp.promise, following.failed.then((error) => Promise.reject(error))]);
  return messages;
};
