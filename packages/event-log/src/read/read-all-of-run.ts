import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import {
  lifecycleFilter,
  runFilter,
  webhookFilter,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { messagesOf } from '../messages/messages-of.ts';
import type { RunLog, RunMessages } from '../messages/run-messages.ts';
import { earliest, readAllUnder } from './read-all-under.ts';
import { partOf } from './part-of.ts';
import { isClean } from './read-run.ts';
import { MAX_OF_RUN, MAX_OF_WEBHOOK, queuedOf } from './read-whole-chain.ts';

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
export const readAllOfRun = async (log: RunLog, key: RunKey): Promise<MessagesOfRun | undefined> => {
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
