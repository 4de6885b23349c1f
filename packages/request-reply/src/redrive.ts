import {
  RedriveAnswer,
  RedriveQuestion,
  redriveSubject,
  type Redriver,
} from '@runledger/contracts/requests/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { answer, ask, fitting, type Topic } from './endpoint.ts';

const question = fitting(RedriveQuestion);
const answerIn = fitting(RedriveAnswer);

export const taken = (why: string): RedriveAnswer => ({ outcome: 'taken', why });
export const refused = (why: string): RedriveAnswer => ({ outcome: 'refused', why });

/** Refuses a message that cannot be read where it was parked from. */
export const refusedAsGone = ({ stream, sequence }: RedriveQuestion): RedriveAnswer =>
  refused(`Message ${sequence} is not in ${stream} any more: it has expired, or never was there.`);

const redriveOf = (who: Redriver): Topic<RedriveQuestion, RedriveAnswer> => ({
  subject: redriveSubject(who),
  about: 'a parked message that is to be taken again',
  question,
  answer: answerIn,
});

/** Takes parked messages again, one after the other, when somebody asks. Undefined leaves the answer to another process. */
export const answerRedrives = (
  log: EventLog,
  who: Redriver,
  take: (question: RedriveQuestion) => Promise<RedriveAnswer | undefined>,
): Disposable => answer(log, redriveOf(who), take);

/** Has a parked message taken again. Undefined when that service is not there, or does not answer in time: it may take it yet. */
export const askRedrive = (
  log: EventLog,
  who: Redriver,
  asked: RedriveQuestion,
  withinMs: number,
): Promise<RedriveAnswer | undefined> => ask(log, redriveOf(who), asked, withinMs);
