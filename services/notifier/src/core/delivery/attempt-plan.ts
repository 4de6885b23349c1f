import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import type { ReadRun } from '@runledger/event-log/read/read-run';
import { isInTimers, type FinalDelivery } from './final-delivery.ts';
import { hasExpired, logEndOf, oldestFactOf } from './log-end.ts';
import type { Progress } from './attempt-report.ts';

/** What an attempt has to do, from the run's facts. */
export type AttemptPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unreadable'; readonly why: string }
  | ({ readonly kind: 'send' | 'expired' | 'log_expired' } & Progress & DueRun)
  /** The run's first fact has left the log, or all of them have. */
  | { readonly kind: 'gone' };

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
  /** For which RUNS keeps a fact. */
  readonly logAgeMs: number;
  /** The first sequence that RUNS holds. */
  readonly firstSequence: number;
  readonly instantOf: (time: string) => number;
}

export const planAttempt = (
  delivery: FinalDelivery,
  read: ReadRun,
  now: number,
  settings: PlanSettings,
): AttemptPlan => {
  if (hasExpired(read, delivery.fact, settings.firstSequence)) return { kind: 'gone' };
  // A forged fact, or a run that was deleted meanwhile.
  if (read.kind === 'none' || read.kind === 'deleted') return { kind: 'nothing' };
  // The delivery stays visible as waiting, until the run can be read or expires.
  if (read.kind !== 'found' || !read.webhook) return { kind: 'unreadable', why: whyUnreadable(read) };
  const { run, webhook, history, facts, webhookFacts } = read;
  const url = run.request.webhook;
  // Forged, or one round after another: it is not due, or no longer.
  if (!isEnded(run) || url === null || isSettled(webhook.state)) return { kind: 'nothing' };
  const round = roundOf(webhook.state);
  if (delivery.round < round && isInTimers(delivery)) return { kind: 'nothing' };
  const attempts = round === delivery.round ? delivery.attempts : 0;
  const { giveUpAfterMs, logAgeMs, instantOf } = settings;
  const endedAt = instantOf(run.ended_at);
  const logEnd = logEndOf(oldestFactOf(facts, instantOf), logAgeMs);
  // A redelivery has as much time as the first delivery had.
  const request = webhookFacts.findLast(({ event }) => event.type === 'WebhookRedeliveryRequested');
  const wantedSince = request ? instantOf(request.time) : endedAt;
  const plannedEnd = delivery.round === round ? delivery.expiresAt : Infinity;
  const expiresAt = Math.min(plannedEnd, wantedSince + giveUpAfterMs, logEnd);
  const kind = now < expiresAt ? 'send' : now < logEnd ? 'expired' : 'log_expired';
  return { kind, round, attempts, expiresAt, run, url, webhook, sequence: history.head, endedAt };
};

const whyUnreadable = (read: Exclude<ReadRun, { kind: 'none' | 'deleted' }>): string => {
  switch (read.kind) {
    case 'newer_version':
      return `${read.type} is of version ${read.version}, which this release cannot read`;
    case 'damaged':
      return read.why;
    case 'found':
      return 'its webhook facts contradict each other';
  }
};
