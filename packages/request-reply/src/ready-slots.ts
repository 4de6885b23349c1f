import {
  KeepReadyRequest,
  KeepReadyResponse,
  keepReadySubject,
  READY_SLOTS_SUBJECT,
  ReadySlotsRequest,
  ReadySlotsResponse,
} from '@runledger/contracts/requests/ready-slots';
import { executorId, executorName, type ExecutorId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const READY_SLOTS: Endpoint<ReadySlotsRequest, ReadySlotsResponse> = {
  subject: READY_SLOTS_SUBJECT,
  description: 'where versions are to be ready',
  parseRequest: parserOf(ReadySlotsRequest),
  parseResponse: parserOf(ReadySlotsResponse),
};

/** Says where versions are to be ready. Only the leading scheduler responds: `placesOf` gives undefined in another one. */
export const respondWithReadySlots = (
  log: EventLog,
  placesOf: (request: ReadySlotsRequest) => ReadySlotsResponse | undefined,
): Disposable => respond(log, READY_SLOTS, placesOf);

/** Undefined when no scheduler leads, or none responds in time. */
export const requestReadySlots = (
  log: EventLog,
  request: ReadySlotsRequest,
  withinMs: number,
): Promise<ReadySlotsResponse | undefined> => sendRequest(log, READY_SLOTS, request, withinMs);

const parseRequest = parserOf(KeepReadyRequest);
const parseResponse = parserOf(KeepReadyResponse);

const keepReadyOf = (name: string): Endpoint<KeepReadyRequest, KeepReadyResponse> => ({
  subject: keepReadySubject(name),
  description: 'versions that an executor is to have ready',
  parseRequest,
  parseResponse,
});

/** Keeps versions ready on request. What was meant for another process of the name is not answered. */
export const respondToKeepReady = (
  log: EventLog,
  executor: ExecutorId,
  keep: (request: KeepReadyRequest) => KeepReadyResponse,
): Disposable =>
  respond(log, keepReadyOf(executorName(executor)), (request) =>
    request.executor_id === executor ? keep(request) : undefined,
  );

/** Undefined when the executor does not respond in time. */
export const requestKeepReady = (
  log: EventLog,
  request: KeepReadyRequest,
  withinMs: number,
): Promise<KeepReadyResponse | undefined> =>
  sendRequest(log, keepReadyOf(executorName(executorId(request.executor_id))), request, withinMs);
