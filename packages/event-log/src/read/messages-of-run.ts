import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { runFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { messagesOf } from '../messages/messages-of.ts';
import type { RunLog } from '../messages/run-messages.ts';

/** What the log still has of a run, in order, from any replica: the last message of each subject. @throws {LogUnavailable} */
export const messagesOfRun = async (log: RunLog, key: RunKey): Promise<StoredMessage[]> =>
  [...(await messagesOf(log).lastOfEachSubject(runFilter(key)))].sort(
    (one, other) => one.sequence - other.sequence,
  );
