import { verifyAttempt } from '@runledger/contracts/access/attempt-token';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head, readRun } from '@runledger/event-log/read/read-run';

export type UploadPermission =
  | { readonly kind: 'granted' }
  /** Also for a run that does not exist: without a token, a client learns nothing. */
  | { readonly kind: 'bad_token' }
  | { readonly kind: 'not_current'; readonly why: string };

/** Whether the token belongs to this attempt, and the log's leader says that the attempt is executing. @throws {LogUnavailable} */
export const uploadPermission = async (
  log: EventLog,
  key: RunKey,
  attempt: number,
  token: string,
): Promise<UploadPermission> => {
  const read = await readRun(log, key, { atLeast: await head(log, key) });
  if (read.kind !== 'found') return { kind: 'bad_token' };
  const assigned = read.facts.find(({ event }) => event.type === 'RunAssigned' && event.attempt === attempt);
  if (assigned?.event.type !== 'RunAssigned') return { kind: 'bad_token' };
  const { executor_public_key } = assigned.event.data;
  if (!(await verifyAttempt(executor_public_key, token, key, attempt))) return { kind: 'bad_token' };
  if (isExecuting(read.run) && read.run.attempt.number === attempt) return { kind: 'granted' };
  const why = isExecuting(read.run)
    ? `attempt ${read.run.attempt.number} is executing`
    : `the run is ${read.run.status}`;
  return { kind: 'not_current', why: `Attempt ${attempt} can no longer store files: ${why}` };
};
