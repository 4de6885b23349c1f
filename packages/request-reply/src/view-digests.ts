import { createHash } from 'node:crypto';
import type { RunState } from '@runledger/contracts/fold/run';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import {
  VIEW_DIGESTS_SUBJECT,
  ViewDigestsRequest,
  ViewDigestsResponse,
} from '@runledger/contracts/requests/operator-requests';
import { viewText } from '@runledger/contracts/http/runs/run-history';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const endpoint: Endpoint<ViewDigestsRequest, ViewDigestsResponse> = {
  subject: VIEW_DIGESTS_SUBJECT,
  description: 'the digests of views',
  parseRequest: parserOf(ViewDigestsRequest),
  parseResponse: parserOf(ViewDigestsResponse),
};

/** The SHA-256 of what a view says. */
export const viewDigest = (run: RunState, webhook: Webhook | undefined): string =>
  createHash('sha256').update(viewText(run, webhook)).digest('hex');

/** Undefined leaves the response to another gateway. */
export const respondToViewDigests = (
  log: EventLog,
  digests: (request: ViewDigestsRequest) => Promise<ViewDigestsResponse | undefined>,
): Disposable => respond(log, endpoint, digests);

/** Undefined when no gateway responds in time. */
export const requestViewDigests = (
  log: EventLog,
  request: ViewDigestsRequest,
  withinMs: number,
): Promise<ViewDigestsResponse | undefined> => sendRequest(log, endpoint, request, withinMs);
