/* oxlint-disable no-restricted-globals -- it makes dates of the broker's times; it does not read the clock */
import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import type { LogAge } from '@runledger/event-log/messages/log-age';
import type { StoredView, ViewOf } from '../../../projection/core/run-view.ts';

export const DAY_MS = 86_400_000;

/** Runs that are kept for this long, and whose first fact has left the log. By the broker's clock. */
export const createdBefore = (days: number, { now, beginsAt }: LogAge): Date =>
  new Date(Math.min(now - days * DAY_MS, beginsAt));

export const endedBefore = (days: number, { now }: LogAge): Date => new Date(now - days * DAY_MS);

/** Nothing of the run is to come: its client was notified of the end, or sees that it was not. */
export const isOver = (view: StoredView): view is ViewOf<EndedRun> =>
  isEnded(view.run) && !isUnsettled(view.run, view.webhook.state);
