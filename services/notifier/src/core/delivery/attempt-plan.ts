import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import type { ReadRun } from '@runledger/event-log/read/read-run';
import type { FinalDelivery } from './final-delivery.ts';
import type { Progress } from './attempt-report.ts';

/** What an attempt has to do, from the run's facts. */
export type AttemptPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unreadable'; readonly why: string }
  | ({ readonly kind: 'send' | 'expired' } & Progress & DueRun);

/** A run whose final notification is due. */
interface DueRun {
  readonly run: EndedRun;
  readonly url: string;
  readonly webhook: WebhookHistory;
  /** The run's head. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

export interface PlanSettings {
  readonly giveUpAfterMs: number;
  readonly instantOf: (time: string) => number;
}

export const planAttempt = (
  delivery: FinalDelivery,
  read: ReadRun,
  now: number,
  { giveUpAfterMs, instantOf }: PlanSettings,
): AttemptPlan => {
  // A forged fact, or one whose run has expired.
  if (read.kind === 'none') return { kind: 'nothing' };
  // The delivery stays visible as waiting, until the run can be read or expires.
  if (read.kind !== 'found' || !read.webhook) return { kind: 'unreadable', why: whyUnreadable(read) };
  const { run, webhook, history } = read;
  const url = run.request.webhook;
  // Forged, or one round after another: it is not due, or no longer.
  if (!isEnded(run) || url === null || isSettled(webhook.state)) return { kind: 'nothing' };
  const round = roundOf(webhook.state);
  if (delivery.round < round && delivery.source.kind !== 'fact') return { kind: 'nothing' };
  const attempts = round === delivery.round ? delivery.attempts : 0;
  const endedAt = instantOf(run.ended_at);
  const expiresAt = Math.min(delivery.expiresAt, endedAt + giveUpAfterMs);
  // A redelivery gets at least one attempt.
  const mayExpire = round === 1 || attempts > 0;
  const kind = mayExpire && now >= expiresAt ? 'expired' : 'send';
  return { kind, round, attempts, expiresAt, run, url, webhook, sequence: history.head, endedAt };
};

const whyUnreadable = (read: Exclude<ReadRun, { kind: 'none' }>): string => {
  switch (read.kind) {
    case 'newer_version':
      return `${read.type} is of version ${read.version}, which this release cannot read`;
    case 'damaged':
      return read.why;
    case 'found':
      return 'its webhook facts contradict each other';
  }
};
