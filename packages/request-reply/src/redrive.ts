import {
  RedriveResponse,
  RedriveRequest,
  redriveSubject,
  type Redriver,
  redriverOf,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { removeDeadLetter, type ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { Value } from 'typebox/value';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

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

/** The outcome of redriving one dead letter. */
export interface Redriven {
  readonly position: number;
  readonly outcome: 'taken' | 'refused' | 'no_response' | 'no_responder';
  readonly why: string;
}

/** Lets the service whose consumer rejected a message handle it again, and removes the dead letter if that succeeds. */
type Redrive = (message: ListedDeadLetter) => Promise<Redriven>;

/** Each waits so long for the service; one that did not respond gets no further request. */
export const redriving = (log: EventLog, withinMs: number): Redrive => {
  const unresponsive = new Set<Redriver>();
  return async ({ position, consumer, stream, sequence, subject }) => {
    const who = redriverOf(consumer);
    const request = { stream, sequence, subject };
    if (who === undefined || !Value.Check(RedriveRequest, request)) {
      const why = `No service redrives messages of ${stream} that ${consumer} rejected. It stays until it expires.`;
      return { position, outcome: 'no_responder', why };
    }
    const answer = unresponsive.has(who) ? undefined : await requestRedrive(log, who, request, withinMs);
    if (answer === undefined) {
      unresponsive.add(who);
      return { position, outcome: 'no_response', why: noResponseSentence(who) };
    }
    if (answer.outcome === 'taken') await removeDeadLetter(log, position);
    return { position, ...answer };
  };
};

const noResponseSentence = (who: Redriver): string => {
  const andThen = 'then redrive again: nothing is handled twice.';
  if (who === 'scheduler') return `The leading scheduler did not respond. Start a scheduler, ${andThen}`;
  if (who === 'gateway')
    return `No gateway that updates the run views responded. Start a gateway, ${andThen}`;
  return `Executor ${who.slice('executor.'.length)} did not respond. Start it under this name, ${andThen}`;
};
