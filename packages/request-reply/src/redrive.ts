import {
  RedriveResponse,
  RedriveRequest,
  redriveSubject,
  type Redriver,
} from '@runledger/contracts/requests/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respond, sendRequest, parserOf, type Endpoint } from './endpoint.ts';

const question = parserOf(RedriveRequest);
const answerIn = parserOf(RedriveResponse);

export const taken = (why: string): RedriveResponse => ({ outcome: 'taken', why });
export const refused = (why: string): RedriveResponse => ({ outcome: 'refused', why });

/** Refuses a message that cannot be read where it was parked from. */
export const refusedAsMissing = ({ stream, sequence }: RedriveRequest): RedriveResponse =>
  refused(`Message ${sequence} is not in ${stream} any more: it has expired, or never was there.`);

const redriveOf = (who: Redriver): Endpoint<RedriveRequest, RedriveResponse> => ({
  subject: redriveSubject(who),
  description: 'a parked message that is to be taken again',
  parseRequest: question,
  parseResponse: answerIn,
});

/** Takes parked messages again, one after the other, when somebody asks. Undefined leaves the answer to another process. */
export const respondToRedrives = (
  log: EventLog,
  who: Redriver,
  take: (question: RedriveRequest) => Promise<RedriveResponse | undefined>,
): Disposable => respond(log, redriveOf(who), take);

/** Has a parked message taken again. Undefined when that service is not there, or does not answer in time: it may take it yet. */
export const requestRedrive = (
  log: EventLog,
  who: Redriver,
  asked: RedriveRequest,
  withinMs: number,
): Promise<RedriveResponse | undefined> => sendRequest(log, redriveOf(who), asked, withinMs);
