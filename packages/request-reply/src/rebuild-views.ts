import {
  REBUILD_VIEWS_SUBJECT,
  RebuildViewsRequest,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const endpoint: Endpoint<RebuildViewsRequest, RebuildViewsResponse> = {
  subject: REBUILD_VIEWS_SUBJECT,
  description: 'views that are built again',
  parseRequest: parserOf(RebuildViewsRequest),
  parseResponse: parserOf(RebuildViewsResponse),
};

/** Undefined leaves the response to another gateway. */
export const respondToRebuilds = (
  log: EventLog,
  take: (request: RebuildViewsRequest) => Promise<RebuildViewsResponse | undefined>,
): Disposable => respond(log, endpoint, take);

/** Undefined when no gateway responds in time. */
export const requestRebuild = (
  log: EventLog,
  request: RebuildViewsRequest,
  withinMs: number,
): Promise<RebuildViewsResponse | undefined> => sendRequest(log, endpoint, request, withinMs);
