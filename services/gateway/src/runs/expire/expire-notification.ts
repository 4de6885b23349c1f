import { isUnsettled } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { readWebhookEnd, type WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { existing, type RunView } from '../../projection/core/run-view.ts';
import { appendExpiry, type ExpiryOptions } from './append-expiry.ts';
import { notificationExpired } from './core/expiring.ts';

/** Gives up the final notification of a run that the log has lost. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireNotification = (key: RunKey) => Promise<void>;

/**
 * A notification is made from the facts of its run, and the notifier knows of it from them, or from TIMERS. When the log holds nothing
 * of the run and TIMERS had no room for it, only the view says that it was not settled.
 */
export const expireNotification =
  (options: ExpiryOptions): ExpireNotification =>
  async (key) => {
    await appendExpiry(options, key, {
      read: () => readLost(options, key),
      decide: ({ view, end }, envelope) =>
        end.status !== 'settled' && isUnsettled(view.run, view.webhook.state)
          ? { event: notificationExpired(view, end, envelope), expected: end.head }
          : undefined,
      message:
        'the log has lost a run whose final notification was not settled: the notification is given up',
    });
  };

/** A run that the log holds nothing of. */
interface Lost {
  readonly view: RunView;
  /** Of its webhook facts, which may be younger. */
  readonly end: WebhookEnd;
}

const readLost = async (
  { log, views }: Pick<ExpiryOptions, 'log' | 'views'>,
  key: RunKey,
): Promise<Lost | undefined> => {
  const read = await readRun(log, key);
  if (read.kind !== 'none') return undefined;
  const stored = await views.find(key);
  const view = stored && existing(stored);
  return view && { view, end: await readWebhookEnd(log, key) };
};
