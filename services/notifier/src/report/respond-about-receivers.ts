import { MAX_LISTED_RECEIVERS, type ReceiversRequest } from '@runledger/contracts/requests/receivers';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithReceivers } from '@runledger/request-reply/receivers';
import { within } from '@runledger/resilience/within';
import type { KnownReceivers } from '../core/report/known-receivers.ts';
import { countPendingAt } from '../timers/read-timers.ts';
import { receiverStates } from './receiver-states.ts';
import { rememberMany } from './remembered-counts.ts';

/** The gateway waits for a second. A slow count must not make the notifier look gone. */
const COUNTED_WITHIN_MS = 400;

/** Responds to requests for the receivers of an organisation, until it is disposed of. */
export const respondAboutReceivers = (
  log: EventLog,
  notifier: { readonly receivers: (request: ReceiversRequest, most: number) => KnownReceivers },
): Disposable => {
  const countPending = rememberMany((receiver) => countPendingAt(log, receiver));
  return respondWithReceivers(log, (request) => {
    const until = performance.now() + COUNTED_WITHIN_MS;
    return receiverStates(notifier.receivers(request, MAX_LISTED_RECEIVERS), {
      isInTime: () => performance.now() < until,
      count: (receiver) =>
        within(
          until - performance.now(),
          countPending(receiver).catch(() => undefined),
          () => undefined,
        ),
    });
  });
};
