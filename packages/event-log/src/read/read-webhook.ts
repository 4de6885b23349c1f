import type { RefusedMessage, StoredMessage } from '@runledger/contracts/fold/chain';
import type { ReadHistory } from '@runledger/contracts/fold/run-chain';
import { webhookFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WebhookFact } from '@runledger/contracts/fold/webhook';
import { readWebhookChain, type WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { readAllUnder, earliest } from './read-all-under.ts';
import type { EventLog } from '../connect/event-log.ts';

export type ReadWebhook =
  | {
      readonly kind: 'read';
      readonly history: WebhookHistory;
      readonly facts: readonly WebhookFact[];
      readonly refused: readonly RefusedMessage[];
    }
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
  const read = fold(messages);
  return read === undefined || (read.kind === 'read' && read.refused.length > 0) ? 'unclear' : read;
};

/** Every webhook fact of a run, hidden ones too. No honest one is older than the run; `known` may hold others. */
export const readWholeWebhook = async (
  log: EventLog,
  key: RunKey,
  { history }: Extract<ReadHistory, { kind: 'whole' }>,
  known: readonly StoredMessage[],
): Promise<ReadWebhook> => {
  if (history.run === undefined) return fold([]);
  const filter = webhookFilter(key);
  const from = earliest(known, filter, history.run.number);
  const messages = await readAllUnder(log, filter, { from, most: MOST_MESSAGES });
  return messages && fold(messages);
};

const fold = (messages: readonly StoredMessage[]): ReadWebhook => {
  const read = readWebhookChain(messages);
  switch (read.kind) {
    case 'whole':
      return {
        kind: 'read',
        history: { head: read.head, webhook: read.state },
        facts: read.facts,
        refused: read.refused,
      };
    case 'newer_version':
      return read;
    case 'gap':
      return undefined;
  }
};
