import { RedriveAnswer, RedriveQuestion, redriveSubject, type Redriver } from '@runledger/contracts/redrive';
import type { EventLog } from '../event-log.ts';
import { answer, ask, fitting, type Topic } from './topic.ts';

const question = fitting(RedriveQuestion);
const answerIn = fitting(RedriveAnswer);

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
