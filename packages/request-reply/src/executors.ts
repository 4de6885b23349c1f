import {
  EXECUTORS_SUBJECT,
  ExecutorsResponse,
  ExecutorsRequest,
} from '@runledger/contracts/requests/executors';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, firstThatFit, respond, sendRequest } from './endpoint.ts';

const EXECUTORS: Endpoint<ExecutorsRequest, ExecutorsResponse> = {
  subject: EXECUTORS_SUBJECT,
  description: 'the executors',
  parseRequest: parserOf(ExecutorsRequest),
  parseResponse: parserOf(ExecutorsResponse),
};

/** Responds with a page of the executors. Only the leading scheduler does: `executorsOf` gives undefined in another one. */
export const respondWithExecutors = (
  log: EventLog,
  executorsOf: (request: ExecutorsRequest) => ExecutorsResponse | undefined,
): Disposable =>
  respond(log, EXECUTORS, (request) => {
    const page = executorsOf(request);
    if (!page) return undefined;
    const executors = firstThatFit(page.executors, maxPayloadBytes(log));
    return { ...page, executors, more: page.more || executors.length < page.executors.length };
  });

/** One page of the executors. Undefined when no scheduler leads, or none responds in time. */
export const requestExecutors = (
  log: EventLog,
  request: ExecutorsRequest,
  withinMs: number,
): Promise<ExecutorsResponse | undefined> => sendRequest(log, EXECUTORS, request, withinMs);
