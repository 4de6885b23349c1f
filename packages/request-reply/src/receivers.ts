import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import {
  compareReceivers,
  MAX_LISTED_RECEIVERS,
  RECEIVERS_SUBJECT,
  ReceiversRequest,
  ReceiversResponse,
  type ReceiverState,
} from '@runledger/contracts/deliveries/receivers';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, firstThatFit, gatherResponses, respond } from './endpoint.ts';

const RECEIVERS: Endpoint<ReceiversRequest, ReceiversResponse> = {
  subject: RECEIVERS_SUBJECT,
  description: 'the receivers of an organisation',
  parseRequest: parserOf(ReceiversRequest),
  parseResponse: parserOf(ReceiversResponse),
};

/** Responds with what this notifier knows of an organisation's receivers, in the partitions that it holds. */
export const respondWithReceivers = (
  log: EventLog,
  receiversOf: (request: ReceiversRequest) => Promise<ReceiversResponse>,
): Disposable =>
  respond(log, RECEIVERS, async (request) => {
    const response = await receiversOf(request);
    const receivers = firstThatFit(response.receivers, maxPayloadBytes(log));
    return { ...response, receivers, more: response.more || receivers.length < response.receivers.length };
  });

export interface GatheredReceivers {
  /** In the order of `compareReceivers`, `MAX_LISTED_RECEIVERS` at most. */
  readonly receivers: readonly ReceiverState[];
  readonly more: boolean;
  /** Whether each partition was in a response. */
  readonly complete: boolean;
}

/** Asks every notifier, until each partition is in a response or the time is over. */
export const requestReceivers = async (
  log: EventLog,
  request: ReceiversRequest,
  within: { readonly totalMs: number; readonly quietMs: number; readonly most: number },
): Promise<GatheredReceivers> => {
  const responses = await gatherResponses(log, RECEIVERS, request, { ...within, isAll: coversAll });
  const byOrigin = new Map<string, ReceiverState>();
  // Two notifiers may both name it while one takes over from the other.
  for (const { receivers } of responses)
    for (const receiver of receivers) byOrigin.set(receiver.origin, receiver);
  const sorted = [...byOrigin.values()].toSorted(compareReceivers);
  return {
    receivers: sorted.slice(0, MAX_LISTED_RECEIVERS),
    more: sorted.length > MAX_LISTED_RECEIVERS || responses.some(({ more }) => more),
    complete: coversAll(responses),
  };
};

const coversAll = (responses: readonly ReceiversResponse[]): boolean =>
  new Set(responses.flatMap(({ partitions }) => partitions)).size === PARTITIONS;
