import { RedriveRequest, redriverOf } from '@runledger/contracts/requests/redrive';
import type { Redriver } from '@runledger/contracts/requests/redrive';
import { requestRedrive } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { removeDeadLetter, type ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { Value } from 'typebox/value';

/** What became of a parked message that was to be taken again. */
export interface Redriven {
  readonly position: number;
  readonly outcome: 'taken' | 'refused' | 'not_answered' | 'nobody_takes_it';
  readonly why: string;
}

const ANSWER_WITHIN_MS = 15_000;

/** Has the service that parked a message take it again, and erases it from PARKED when it was taken. */
export type Redrive = (message: ListedDeadLetter) => Promise<Redriven>;

/** A service that does not answer is not asked again. */
export const redriving = (log: EventLog): Redrive => {
  const silent = new Set<Redriver>();
  return async ({ position, consumer, stream, sequence, subject }) => {
    const who = redriverOf(consumer);
    const question = { stream, sequence, subject };
    if (who === undefined || !Value.Check(RedriveRequest, question)) {
      const why = `No service takes again what ${consumer} parked of ${stream}. It stays until it expires.`;
      return { position, outcome: 'nobody_takes_it', why };
    }
    const answer = silent.has(who) ? undefined : await requestRedrive(log, who, question, ANSWER_WITHIN_MS);
    if (answer === undefined) {
      silent.add(who);
      return { position, outcome: 'not_answered', why: notAnswered(who) };
    }
    if (answer.outcome === 'taken') await removeDeadLetter(log, position);
    return { position, ...answer };
  };
};

const notAnswered = (who: Redriver): string => {
  const ask = 'and then ask again: what was taken meanwhile is not done twice.';
  if (who === 'scheduler') return `No scheduler that leads has answered. Start a scheduler, ${ask}`;
  if (who === 'gateway') return `No gateway that keeps the views has answered. Start a gateway, ${ask}`;
  return `The executor ${who.slice('executor.'.length)} has not answered. Start it under this name, ${ask}`;
};
