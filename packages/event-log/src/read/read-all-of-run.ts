import { lifecycleFilter, runFilter, webhookFilter, type RunKey } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import type { EventLog } from '../connect/event-log.ts';
import { isClean } from './read-run.ts';
import { earliest, MAX_OF_RUN, MAX_OF_WEBHOOK, partOf, queuedOf, readAllUnder } from './read-whole-chain.ts';
import { messagesOf, type RunMessages } from './run-messages.ts';

/** All messages of a run, by their chains. */
export interface MessagesOfRun {
  readonly life: readonly StoredMessage[];
  readonly webhook: readonly StoredMessage[];
}

/**
 * Every message of a run that the log holds: also those that no reader folds, and those that another one under the same subject
 * hides. As a rule these are two requests. When a fact is missing or hidden, all are read one by one from the stream's leader.
 * Undefined for more messages than a run can have. @throws {LogUnavailable}
 */
export const readAllOfRun = async (log: EventLog, key: RunKey): Promise<MessagesOfRun | undefined> => {
  const messages = messagesOf(log);
  const last = (await messages.last(runFilter(key)))?.sequence ?? 0;
  if (last === 0) return { life: [], webhook: [] };
  const found = await messages.lastOfEachSubject(runFilter(key));
  const parts = { life: partOf(RUN_CHAIN, key, found), webhook: partOf(WEBHOOK_CHAIN, key, found) };
  const isWhole =
    // A replica may be a moment behind the leader.
    found.some(({ sequence }) => sequence >= last) &&
    isClean(readChain(RUN_CHAIN, parts.life)) &&
    isClean(readChain(WEBHOOK_CHAIN, parts.webhook));
  return isWhole ? parts : readOneByOne(messages, key, found);
};

const readOneByOne = async (
  messages: RunMessages,
  key: RunKey,
  found: readonly StoredMessage[],
): Promise<MessagesOfRun | undefined> => {
  const queued = await queuedOf(messages, key);
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

/** What the log still has of a run, in order, from any replica: the last message of each subject. @throws {LogUnavailable} */
export const messagesOfRun = async (log: EventLog, key: RunKey): Promise<StoredMessage[]> =>
  [...(await messagesOf(log).lastOfEachSubject(runFilter(key)))].sort(
    (one, other) => one.sequence - other.sequence,
  );
