import { SHORTAGE_SUBJECT, ShortageRequest, ShortageResponse } from '@runledger/contracts/requests/executors';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const SHORTAGE: Endpoint<ShortageRequest, ShortageResponse> = {
  subject: SHORTAGE_SUBJECT,
  description: 'why no executor can take runs',
  parseRequest: parserOf(ShortageRequest),
  parseResponse: parserOf(ShortageResponse),
};

/** Says why no executor can take runs. Only the leading scheduler responds: `shortageOf` gives undefined in another one. */
export const respondWithShortages = (
  log: EventLog,
  shortageOf: (request: ShortageRequest) => ShortageResponse['shortage'] | undefined,
): Disposable =>
  respond(log, SHORTAGE, (request) => {
    const shortage = shortageOf(request);
    return shortage === undefined ? undefined : { shortage };
  });

/** Undefined when no scheduler leads, or none responds in time. */
export const requestShortage = (
  log: EventLog,
  request: ShortageRequest,
  withinMs: number,
): Promise<ShortageResponse | undefined> => sendRequest(log, SHORTAGE, request, withinMs);
