import { RedriveRequest, redriverOf, type Redriver } from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { removeDeadLetter, type ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { Value } from 'typebox/value';
import { requestRedrive } from './redrive.ts';

/** The outcome of redriving one dead letter. */
export interface Redriven {
  readonly position: number;
  readonly outcome: 'taken' | 'refused' | 'no_response' | 'no_responder';
  readonly why: string;
}

/** Lets the service whose consumer rejected a message handle it again, and removes the dead letter if that succeeds. */
export type Redrive = (message: ListedDeadLetter) => Promise<Redriven>;

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
