import {
  ARCHIVE_CHECK_SUBJECT,
  ArchiveCheckRequest,
  ArchiveCheckResponse,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const endpoint: Endpoint<ArchiveCheckRequest, ArchiveCheckResponse> = {
  subject: ARCHIVE_CHECK_SUBJECT,
  description: 'a check of the archive',
  parseRequest: parserOf(ArchiveCheckRequest),
  parseResponse: parserOf(ArchiveCheckResponse),
};

export const respondToArchiveCheck = (
  log: EventLog,
  check: (request: ArchiveCheckRequest) => Promise<ArchiveCheckResponse>,
): Disposable => respond(log, endpoint, check);

/** Undefined when no gateway responds in time. */
export const requestArchiveCheck = (
  log: EventLog,
  request: ArchiveCheckRequest,
  withinMs: number,
): Promise<ArchiveCheckResponse | undefined> => sendRequest(log, endpoint, request, withinMs);
