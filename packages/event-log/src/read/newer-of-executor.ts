import { parseRunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { assignmentSubject, parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import { NewerVersion, newerOfExecutor, newerVersionOf } from '../follow/newer-version.ts';
import { messagesOf } from '../messages/messages-of.ts';
import type { RunLog } from '../messages/run-messages.ts';

/**
 * That an executor wrote a fact which only a later release can read, for a reader of RUNS that does not fold runs. Only the scheduler
 * writes assignments, so this is one request, whatever an executor wrote about the run. @throws {LogUnavailable}
 */
export const newerVersionOfExecutor = async (
  log: RunLog,
  stored: StoredMessage,
): Promise<NewerVersion | undefined> => {
  const newer = newerOfExecutor(stored);
  const about = newer && parseLifecycleSubject(stored.subject);
  if (!newer || !about?.executor_id) return undefined;
  const { executor_id } = about;
  const assignment = await messagesOf(log).last(assignmentSubject({ ...about, executor_id }));
  if (!assignment) return undefined;
  const parsed = parseRunEvent(assignment.body);
  if (parsed.kind !== 'event') return newerVersionOf('RUNS', assignment);
  const { event } = parsed;
  const latest = (event.type === 'RunAssigned' && event.data.fact_versions?.[newer.type]) || 1;
  return newer.version <= latest ? new NewerVersion({ ...newer, sequence: stored.sequence }) : undefined;
};
