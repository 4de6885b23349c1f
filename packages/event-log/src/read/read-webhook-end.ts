import { parseWebhookSubject, webhookFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { messagesOf } from '../messages/messages-of.ts';
import type { RunLog } from '../messages/run-messages.ts';
import type { ReadRun } from './read-run.ts';

/** The end of a run's webhook chain, by the subject of its last fact: it is known even when the facts before it are gone. */
export interface WebhookEnd {
  /** The sequence of the last webhook fact; 0 for none. */
  readonly head: number;
  readonly round: number;
  /** `settled`: nothing more is sent until somebody requests a redelivery. */
  readonly status: 'none' | 'running' | 'settled';
}

const SETTLING: ReadonlySet<string> = new Set(['delivered', 'given_up', 'expired']);

/** Whether a webhook fact of this name settles the notification. */
export const settles = (fact: string): boolean => SETTLING.has(fact);

/** The end of a chain that was folded. */
export const endOf = ({ head, state }: WebhookHistory): WebhookEnd => ({
  head,
  round: roundOf(state),
  status: state === undefined ? 'none' : isSettled(state) ? 'settled' : 'running',
});

/** Of a run that was read. When its chain has a gap, the last fact is read from the stream's leader. @throws {LogUnavailable} */
export const webhookEndOf = async (log: RunLog, key: RunKey, read: ReadRun): Promise<WebhookEnd> =>
  read.kind === 'found' && read.webhook ? endOf(read.webhook) : readWebhookEnd(log, key);

/** From the stream's leader. @throws {LogUnavailable} */
export const readWebhookEnd = async (log: RunLog, key: RunKey): Promise<WebhookEnd> => {
  const last = await messagesOf(log).last(webhookFilter(key));
  const about = last && parseWebhookSubject(last.subject);
  if (!last || !about) return { head: last?.sequence ?? 0, round: 1, status: 'none' };
  return { head: last.sequence, round: about.round, status: settles(about.fact) ? 'settled' : 'running' };
};
