/* oxlint-disable no-restricted-globals -- it makes dates of the broker's times; it does not read the clock */
import { isEnded } from '@runledger/contracts/fold/run';
import { isSettled } from '@runledger/contracts/fold/webhook';
import type { LogAge } from '@runledger/event-log/messages/log-age';
import type { StoredView } from '../../../projection/core/run-view.ts';

export const DAY_MS = 86_400_000;

/** Runs that are kept for this long, and whose first fact has left the log. By the broker's clock. */
export const createdBefore = (days: number, { now, beginsAt }: LogAge): Date =>
  new Date(Math.min(now - days * DAY_MS, beginsAt));

export const endedBefore = (days: number, { now }: LogAge): Date => new Date(now - days * DAY_MS);

/** The last days of every run: it goes even if its notifications never settled. */
export const isOver = ({ run }: StoredView): boolean => isEnded(run);

/** An organisation may choose few days. A person sees meanwhile how its notifications ended. */
export const isSettledToo = ({ run, webhook }: StoredView): boolean =>
  isEnded(run) && (run.request.webhook === null || isSettled(webhook.state));
