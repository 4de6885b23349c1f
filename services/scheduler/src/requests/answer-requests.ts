import { respondWithExecutors } from '@runledger/request-reply/executors';
import { respondWithWaitReasons } from '@runledger/request-reply/wait-reason';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import type { Answers } from '../core/queries/answers.ts';

interface AnswerOptions {
  readonly answers: Answers;
  readonly isCurrent: () => boolean;
  /** The sequence in FLEET of the last fact that was taken. */
  readonly fleetReadUpTo: () => number;
}

/** Answers what is asked of the scheduler that leads, from memory, until it is disposed of. Silent while that is not current. */
export const answerRequests = (
  log: EventLog,
  { answers, isCurrent, fleetReadUpTo }: AnswerOptions,
): Disposable => {
  const stack = new DisposableStack();
  stack.use(
    respondWithQueuePositions(log, (keys) =>
      isCurrent() ? keys.map((key) => answers.placeOf(key)) : undefined,
    ),
  );
  stack.use(respondWithWaitReasons(log, (key) => (isCurrent() ? (answers.waitOf(key) ?? null) : undefined)));
  stack.use(
    respondWithExecutors(log, (question) =>
      isCurrent() ? { ...answers.executors(question), read_up_to: fleetReadUpTo() } : undefined,
    ),
  );
  return stack;
};
