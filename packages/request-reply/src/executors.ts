import {
  EXECUTORS_SUBJECT,
  ExecutorsResponse,
  ExecutorsRequest,
  type ExecutorState,
} from '@runledger/contracts/requests/executor-state';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import { respond, sendRequest, parserOf, type Endpoint } from './endpoint.ts';

const EXECUTORS: Endpoint<ExecutorsRequest, ExecutorsResponse> = {
  subject: EXECUTORS_SUBJECT,
  description: 'the executors',
  parseRequest: parserOf(ExecutorsRequest),
  parseResponse: parserOf(ExecutorsResponse),
};

/** Answers which executors there are; only the scheduler that leads does. Undefined leaves the question unanswered. */
export const respondWithExecutors = (
  log: EventLog,
  executorsOf: (question: ExecutorsRequest) => ExecutorsResponse | undefined,
): Disposable =>
  respond(log, EXECUTORS, (question) => {
    const page = executorsOf(question);
    return page && fittingPage(page, maxPayloadBytes(log));
  });

/** One page of the executors. Undefined when no scheduler leads, or none answers in time. */
export const requestExecutors = (
  log: EventLog,
  question: ExecutorsRequest,
  withinMs: number,
): Promise<ExecutorsResponse | undefined> => sendRequest(log, EXECUTORS, question, withinMs);

const ROOM_AROUND = 100;

/** As many of the first as fit a message, and one in any case. */
const fittingPage = ({ executors, ...rest }: ExecutorsResponse, most: number): ExecutorsResponse => {
  const told: ExecutorState[] = [];
  let room = most - ROOM_AROUND;
  for (const executor of executors) {
    room -= Buffer.byteLength(JSON.stringify(executor)) + 1;
    if (room < 0 && told.length > 0) return { ...rest, executors: told, more: true };
    told.push(executor);
  }
  return { ...rest, executors: told };
};
