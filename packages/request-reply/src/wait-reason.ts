import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import {
  WAIT_SUBJECT,
  WaitAnswer,
  WaitQuestion,
  type WaitReason,
} from '@runledger/contracts/requests/wait-reason';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { answer, ask, fitting, type Topic } from './endpoint.ts';

const questionIn = fitting(WaitQuestion);

const WAIT: Topic<RunKey, WaitAnswer> = {
  subject: WAIT_SUBJECT,
  about: 'the reasons why runs wait',
  question: (body) => {
    const { org_id = '', run_id = '' } = questionIn(body) ?? {};
    return isOrgId(org_id) && isRunId(run_id) ? { org_id, run_id } : undefined;
  },
  answer: fitting(WaitAnswer),
};

/** Answers why runs wait, null for one that does not; only the scheduler that leads does. Undefined leaves the question unanswered. */
export const answerWaits = (
  log: EventLog,
  waitOf: (key: RunKey) => WaitReason | null | undefined,
): Disposable =>
  answer(log, WAIT, (key) => {
    const wait = waitOf(key);
    return wait === undefined ? undefined : { wait };
  });

/** Why the run waits. Undefined when no scheduler leads, or none answers in time. */
export const askWait = (
  log: EventLog,
  { org_id, run_id }: RunKey,
  withinMs: number,
): Promise<WaitAnswer | undefined> => ask(log, WAIT, { org_id, run_id }, withinMs);
