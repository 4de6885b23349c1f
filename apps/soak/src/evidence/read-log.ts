import { setTimeout as pause } from 'node:timers/promises';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';
import { isEnded } from '@runledger/contracts/fold/run';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import { foldRuns, lastOf, type LoggedRun } from './logged-run.ts';

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

const POLL_EVERY_MS = 2_000;

/**
 * Waits until every run has ended and its delivery is settled. False if that is not so by the deadline, a time of
 * `performance.now()`: the checks find what is left.
 */
export const areSettledBy = async (
  deadline: number,
  recorded: RecordedLog,
  print: (line: string) => void,
): Promise<boolean> => {
  let printed = -1;
  for (;;) {
    const open = [...foldRuns(recorded.messages).values()].filter((run) => !isRunSettled(run)).length;
    if (open === 0) return true;
    if (performance.now() > deadline) return false;
    if (open !== printed) print(`${open} runs are not settled yet.`);
    printed = open;
    await pause(POLL_EVERY_MS);
  }
};

const isRunSettled = (logged: LoggedRun): boolean => {
  const run = lastOf(logged);
  return run !== undefined && isEnded(run) && !isUnsettled(run, logged.webhook);
};
