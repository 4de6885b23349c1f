import { answerExecutors } from '@runledger/event-log/asks/executors';
import { answerWaits } from '@runledger/event-log/asks/wait';
import type { EventLog } from '@runledger/event-log/event-log';
import { answerQueuePlaces } from '@runledger/event-log/queue-places';
import type { Answers } from './domain/answers.ts';

/** Answers what is asked of the scheduler that leads, from memory, until it is disposed of. Silent while that is not current. */
export const answerQuestions = (log: EventLog, answers: Answers, isCurrent: () => boolean): Disposable => {
  const stack = new DisposableStack();
  stack.use(
    answerQueuePlaces(log, (keys) => (isCurrent() ? keys.map((key) => answers.placeOf(key)) : undefined)),
  );
  stack.use(answerWaits(log, (key) => (isCurrent() ? (answers.waitOf(key) ?? null) : undefined)));
  stack.use(answerExecutors(log, (question) => (isCurrent() ? answers.executors(question) : undefined)));
  return stack;
};
