import type { StoredMessage } from '@runledger/contracts/fold/chain';
import {
  lifecycleFilter,
  runFilter,
  webhookFilter,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { messagesOf } from '../messages/messages-of.ts';
import type { RunLog } from '../messages/run-messages.ts';
import { earliest, readAllUnder } from './read-all-under.ts';
import { MAX_OF_RUN, MAX_OF_WEBHOOK, queuedOf } from './read-whole-chain.ts';

/** All messages of a run, by their chains. */
export interface MessagesOfRun {
  readonly life: readonly StoredMessage[];
  readonly webhook: readonly StoredMessage[];
}

/**
 * Every message of a run that the log holds, from the stream's leader: also those that no reader folds, and those that another one
 * under the same subject hides. One request for each message. Undefined for more messages than a run can have. @throws {LogUnavailable}
 */
export const readAllOfRun = async (log: RunLog, key: RunKey): Promise<MessagesOfRun | undefined> => {
  const messages = messagesOf(log);
  const [found, queued] = await Promise.all([
    messages.lastOfEachSubject(runFilter(key)),
    // A replica may not have a run yet that was queued a moment ago.
    queuedOf(messages, key),
  ]);
  const known = queued ? [...found, queued] : found;
  const under = async (filter: string, most: number): Promise<readonly StoredMessage[] | undefined> => {
    const from = earliest(known, filter, Infinity);
    return from === Infinity ? [] : readAllUnder(messages, filter, { from, most });
  };
  const [life, webhook] = await Promise.all([
    under(lifecycleFilter(key), MAX_OF_RUN),
    under(webhookFilter(key), MAX_OF_WEBHOOK),
  ]);
  return life && webhook && { life, webhook };
};
