import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import {
  WAIT_SUBJECT,
  WaitResponse,
  WaitRequest,
  type WaitReason,
} from '@runledger/contracts/requests/wait-reason';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respond, sendRequest, parserOf, type Endpoint } from './endpoint.ts';

const questionIn = parserOf(WaitRequest);

const WAIT: Endpoint<RunKey, WaitResponse> = {
  subject: WAIT_SUBJECT,
  description: 'the reasons why runs wait',
  parseRequest: (body) => {
    const { org_id = '', run_id = '' } = questionIn(body) ?? {};
    return isOrgId(org_id) && isRunId(run_id) ? { org_id, run_id } : undefined;
  },
  parseResponse: parserOf(WaitResponse),
};

/** Answers why runs wait, null for one that does not; only the scheduler that leads does. Undefined leaves the question unanswered. */
export const respondWithWaitReasons = (
  log: EventLog,
  waitOf: (key: RunKey) => WaitReason | null | undefined,
): Disposable =>
  respond(log, WAIT, (key) => {
    const wait = waitOf(key);
    return wait === undefined ? undefined : { wait };
  });

/** Why the run waits. Undefined when no scheduler leads, or none answers in time. */
export const requestWaitReason = (
  log: EventLog,
  { org_id, run_id }: RunKey,
  withinMs: number,
): Promise<WaitResponse | undefined> => sendRequest(log, WAIT, { org_id, run_id }, withinMs);
