import { answerExecutors } from '@runledger/request-reply/executors';
import { answerWaits } from '@runledger/request-reply/wait-reason';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { answerQueuePlaces } from '@runledger/request-reply/queue-positions';
import type { Answers } from '../core/queries/answers.ts';

interface Answering {
  readonly answers: Answers;
  readonly isCurrent: () => boolean;
  /** The sequence in FLEET of the last fact that was taken. */
  readonly fleetReadUpTo: () => number;
}

/** Answers what is asked of the scheduler that leads, from memory, until it is disposed of. Silent while that is not current. */
export const answerQuestions = (
  log: EventLog,
  { answers, isCurrent, fleetReadUpTo }: Answering,
): Disposable => {
  const stack = new DisposableStack();
  stack.use(
    answerQueuePlaces(log, (keys) => (isCurrent() ? keys.map((key) => answers.placeOf(key)) : undefined)),
  );
  stack.use(answerWaits(log, (key) => (isCurrent() ? (answers.waitOf(key) ?? null) : undefined)));
  stack.use(
    answerExecutors(log, (question) =>
      isCurrent() ? { ...answers.executors(question), read_up_to: fleetReadUpTo() } : undefined,
    ),
  );
  return stack;
};
