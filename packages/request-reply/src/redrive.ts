import {
  RedriveResponse,
  RedriveRequest,
  redriveSubject,
  type Redriver,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint } from './endpoint.ts';
import { respond } from './respond.ts';
import { sendRequest } from './send-request.ts';

const parseRequest = parserOf(RedriveRequest);
const parseResponse = parserOf(RedriveResponse);

export const taken = (why: string): RedriveResponse => ({ outcome: 'taken', why });
export const refused = (why: string): RedriveResponse => ({ outcome: 'refused', why });

/** Refuses a message that cannot be read from its stream. */
export const refusedAsMissing = ({ stream, sequence }: RedriveRequest): RedriveResponse =>
  refused(`Message ${sequence} is no longer in ${stream}: it has expired, or never existed.`);

const redriveOf = (redriver: Redriver): Endpoint<RedriveRequest, RedriveResponse> => ({
  subject: redriveSubject(redriver),
  description: 'the redrive of a dead letter',
  parseRequest,
  parseResponse,
});

/** Takes dead letters again on request, one after the other. Undefined leaves the response to another process. */
export const respondToRedrives = (
  log: EventLog,
  redriver: Redriver,
  take: (request: RedriveRequest) => Promise<RedriveResponse | undefined>,
): Disposable => respond(log, redriveOf(redriver), take);

/** Requests that a dead letter is taken again. Undefined when the service does not respond in time: it may still take it. */
export const requestRedrive = (
  log: EventLog,
  redriver: Redriver,
  request: RedriveRequest,
  withinMs: number,
): Promise<RedriveResponse | undefined> => sendRequest(log, redriveOf(redriver), request, withinMs);
