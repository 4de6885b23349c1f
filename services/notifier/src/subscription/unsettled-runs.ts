import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunId } from '@runledger/contracts/ids';
import { parseWebhookSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { settles } from '@runledger/event-log/read/read-webhook-end';
import { runNotice } from './run-notice.ts';
import type { WebhookTargets } from './webhook-targets.ts';

/** A fact that a final notification follows from: the run's end, or the request to send it again. */
export interface Ended {
  readonly key: RunKey;
  /** Of RUNS. */
  readonly sequence: number;
  /** The broker's, in milliseconds since 1970. */
  readonly time: number;
}

/**
 * The runs whose notification is to be sent according to these messages of RUNS, and is not settled in them. Nearly all are settled
 * within seconds, so few are left to look up.
 */
export const unsettledIn = (
  messages: readonly StoredMessage[],
  { note }: Pick<WebhookTargets, 'note'>,
): Ended[] => {
  const open = new Map<RunId, Ended>();
  for (const message of messages) {
    const notice = runNotice(message);
    if (notice && 'target' in notice && notice.target !== undefined) note(notice.key.run_id, notice.target);
    if (notice?.type === 'run_ended' || notice?.type === 'redelivery_requested') {
      const { key } = notice;
      const ended = { key, sequence: message.sequence, time: Date.parse(message.time) };
      if (!open.has(key.run_id)) open.set(key.run_id, ended);
    } else if (!notice) {
      const webhook = parseWebhookSubject(message.subject);
      if (webhook && settles(webhook.fact)) open.delete(webhook.run_id);
    }
  }
  return [...open.values()];
};
