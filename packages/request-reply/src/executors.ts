import {
  EXECUTORS_SUBJECT,
  ExecutorsResponse,
  ExecutorsRequest,
  type ExecutorState,
} from '@runledger/contracts/requests/executor-state';
import { maxPayloadBytes } from '@runledger/event-log/messages/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint } from './endpoint.ts';
import { respond } from './respond.ts';
import { sendRequest } from './send-request.ts';

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
    return page && pageThatFits(page, maxPayloadBytes(log));
  });

/** One page of the executors. Undefined when no scheduler leads, or none responds in time. */
export const requestExecutors = (
  log: EventLog,
  request: ExecutorsRequest,
  withinMs: number,
): Promise<ExecutorsResponse | undefined> => sendRequest(log, EXECUTORS, request, withinMs);

/** Of a response without its executors. */
const OVERHEAD_BYTES = 100;

/** As many of the first executors as fit into a message, and one in any case. */
const pageThatFits = ({ executors, ...rest }: ExecutorsResponse, maxBytes: number): ExecutorsResponse => {
  const fitting: ExecutorState[] = [];
  let left = maxBytes - OVERHEAD_BYTES;
  for (const executor of executors) {
    left -= Buffer.byteLength(JSON.stringify(executor)) + 1;
    if (left < 0 && fitting.length > 0) return { ...rest, executors: fitting, more: true };
    fitting.push(executor);
  }
  return { ...rest, executors: fitting };
};
