import type { RefusedMessage, StoredMessage } from '@runledger/contracts/chain';
import type { ReadHistory } from '@runledger/contracts/history';
import { webhookOf, type RunKey } from '@runledger/contracts/subjects';
import { readWebhookChain, type WebhookHistory } from '@runledger/contracts/webhook-history';
import { nextUnder } from './ask-leader.ts';
import type { EventLog } from './event-log.ts';
import { fromStored } from './stored-message.ts';

export type ReadWebhook =
  | { readonly kind: 'read'; readonly history: WebhookHistory; readonly refused: readonly RefusedMessage[] }
  | {
      readonly kind: 'newer_version';
      readonly type: string;
      readonly version: number;
      readonly sequence: number;
    }
  /** The facts do not hang together. */
  | undefined;

/** Four facts at most for each round; what is beyond this was forged. */
const MOST_MESSAGES = 500;

/** What the last message of each subject says; `unclear` when one may hide another. */
export const foldWebhook = (messages: readonly StoredMessage[]): ReadWebhook | 'unclear' => {
  const read = fold(messages.filter(({ subject }) => subject.split('.')[3] === 'webhook'));
  return read === undefined || (read.kind === 'read' && read.refused.length > 0) ? 'unclear' : read;
};

/** Every webhook fact of a run, hidden ones too, from the stream's leader, one by one: slow and right. */
export const readWholeWebhook = async (
  log: EventLog,
  key: RunKey,
  { history }: Extract<ReadHistory, { kind: 'whole' }>,
): Promise<ReadWebhook> => {
  const messages: StoredMessage[] = [];
  if (history.run === undefined) return fold(messages);
  // No webhook fact is older than the run, and a search from the log's beginning would hold up its writers.
  for (let from = history.run.number; messages.length < MOST_MESSAGES;) {
    const message = await nextUnder(log, 'RUNS', from, webhookOf(key));
    if (!message) return fold(messages);
    messages.push(fromStored(message));
    from = message.seq + 1;
  }
  return undefined;
};

const fold = (messages: readonly StoredMessage[]): ReadWebhook => {
  const read = readWebhookChain(messages);
  switch (read.kind) {
    case 'whole':
      return { kind: 'read', history: { head: read.head, webhook: read.state }, refused: read.refused };
    case 'newer_version':
      return read;
    case 'gap':
      return undefined;
  }
};
