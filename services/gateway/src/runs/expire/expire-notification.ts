import { isUnsettled } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readWebhookEnd, type WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { existing, type RunView } from '../../projection/core/run-view.ts';
import { appendExpiry, type ExpiryOptions } from './append-expiry.ts';
import { notificationExpired } from './core/expiring.ts';
import { readOrLost, type ReadLostOptions } from './read-lost.ts';

/** Gives up the final notification of a run whose beginning the log has lost. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireNotification = (key: RunKey) => Promise<void>;

/**
 * A notification is made from the facts of its run, and the notifier knows of it from them, or from TIMERS. The first fact says
 * where it goes. When the log has lost that one and TIMERS had no room for the notification, only the view says that it was not
 * settled.
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
        'the log has lost the beginning of a run whose final notification was not settled: the notification is given up',
    });
  };

interface LostNotification {
  readonly view: RunView;
  /** Of its webhook facts, which may be younger. */
  readonly end: WebhookEnd;
}

const readLost = async (options: ReadLostOptions, key: RunKey): Promise<LostNotification | undefined> => {
  const read = await readOrLost(options, key);
  const view = read?.kind === 'lost' ? existing(read.view) : undefined;
  return view && { view, end: await readWebhookEnd(options.log, key) };
};
