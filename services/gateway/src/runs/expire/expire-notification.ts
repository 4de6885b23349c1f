import { isUnsettled } from '@runledger/contracts/fold/webhook';
import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import { readRun } from '@runledger/event-log/read/read-run';
import { readWebhookEnd, type WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { existing, type RunView } from '../../projection/core/run-view.ts';
import type { ExpireRunOptions } from './expire-run.ts';
import { notificationExpired } from './core/expiring.ts';

/** Gives up the final notification of a run that the log has lost. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export type ExpireNotification = (key: RunKey) => Promise<void>;

/**
 * A notification is made from the facts of its run, and the notifier knows of it from them, or from TIMERS. When the log holds nothing
 * of the run and TIMERS had no room for it, only the view says that it was not settled.
 */
export const expireNotification =
  ({ log, views, writer, now, onConflict }: Omit<ExpireRunOptions, 'onExpired'>): ExpireNotification =>
  async (key) => {
    const decided = await decideAndAppend<Lost | undefined, undefined>(log, {
      read: async () => {
        const read = await readRun(log, key);
        if (read.kind !== 'none') return undefined;
        const stored = await views.find(key);
        const view = stored && existing(stored);
        return view && { view, end: await readWebhookEnd(log, key) };
      },
      decide: (lost): Decision<undefined> => {
        if (!lost) return NOTHING;
        const { view, end } = lost;
        if (end.status === 'settled' || !isUnsettled(view.run, view.webhook.state)) return NOTHING;
        const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer };
        const event = notificationExpired(view, end, envelope);
        return { kind: 'append', event, expected: end.head, answer: undefined };
      },
      onConflict,
    });
    if (decided.kind === 'appended')
      log.logger.error(
        { run_id: key.run_id, sequence: decided.sequence },
        'the log has lost a run whose final notification was not settled: the notification is given up',
      );
  };

const NOTHING = { kind: 'answer', answer: undefined } as const;

/** A run that the log holds nothing of. */
interface Lost {
  readonly view: RunView;
  /** Of its webhook facts, which may be younger. */
  readonly end: WebhookEnd;
}
