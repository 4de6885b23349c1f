import { isOrgId, isRunId } from '@runledger/contracts/ids';
import {
  WAIT_SUBJECT,
  WaitResponse,
  WaitRequest,
  type WaitReason,
} from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const parseBody = parserOf(WaitRequest);

const WAIT: Endpoint<RunKey, WaitResponse> = {
  subject: WAIT_SUBJECT,
  description: 'the reason why a run waits',
  parseRequest: (body) => {
    const { org_id = '', run_id = '' } = parseBody(body) ?? {};
    return isOrgId(org_id) && isRunId(run_id) ? { org_id, run_id } : undefined;
  },
  parseResponse: parserOf(WaitResponse),
};

/**
 * Responds with the reason why a run waits, null for a run that does not wait. Only the leading scheduler responds: in
 * another one `reasonOf` gives undefined.
 */
export const respondWithWaitReasons = (
  log: EventLog,
  reasonOf: (key: RunKey) => WaitReason | null | undefined,
): Disposable =>
  respond(log, WAIT, (key) => {
    const wait = reasonOf(key);
    return wait === undefined ? undefined : { wait };
  });

/** Why the run waits. Undefined when no scheduler leads, or none responds in time. */
export const requestWaitReason = (
  log: EventLog,
  { org_id, run_id }: RunKey,
  withinMs: number,
): Promise<WaitResponse | undefined> => sendRequest(log, WAIT, { org_id, run_id }, withinMs);
