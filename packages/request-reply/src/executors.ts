import {
  EXECUTORS_SUBJECT,
  ExecutorsAnswer,
  ExecutorsQuestion,
  type ExecutorState,
} from '@runledger/contracts/requests/executor-state';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { mostBytes } from '@runledger/event-log/append/publish';
import { answer, ask, fitting, type Topic } from './endpoint.ts';

const EXECUTORS: Topic<ExecutorsQuestion, ExecutorsAnswer> = {
  subject: EXECUTORS_SUBJECT,
  about: 'the executors',
  question: fitting(ExecutorsQuestion),
  answer: fitting(ExecutorsAnswer),
};

/** Answers which executors there are; only the scheduler that leads does. Undefined leaves the question unanswered. */
export const answerExecutors = (
  log: EventLog,
  executorsOf: (question: ExecutorsQuestion) => ExecutorsAnswer | undefined,
): Disposable =>
  answer(log, EXECUTORS, (question) => {
    const page = executorsOf(question);
    return page && fittingPage(page, mostBytes(log));
  });

/** One page of the executors. Undefined when no scheduler leads, or none answers in time. */
export const askExecutors = (
  log: EventLog,
  question: ExecutorsQuestion,
  withinMs: number,
): Promise<ExecutorsAnswer | undefined> => ask(log, EXECUTORS, question, withinMs);

const ROOM_AROUND = 100;

/** As many of the first as fit a message, and one in any case. */
const fittingPage = ({ executors, ...rest }: ExecutorsAnswer, most: number): ExecutorsAnswer => {
  const told: ExecutorState[] = [];
  let room = most - ROOM_AROUND;
  for (const executor of executors) {
    room -= Buffer.byteLength(JSON.stringify(executor)) + 1;
    if (room < 0 && told.length > 0) return { ...rest, executors: told, more: true };
    told.push(executor);
  }
  return { ...rest, executors: told };
};
