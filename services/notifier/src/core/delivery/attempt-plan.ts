import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import type { ReadRun } from '@runledger/event-log/read/read-run';
import type { WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
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
  readonly end: WebhookEnd;
  /** The run's head. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

export interface PlanSettings {
  /** The core has decided that it is given up. Otherwise it is attempted once in its round, whatever was away until its time was over. */
  readonly isOver: boolean;
  readonly giveUpAfterMs: number;
  /** For which RUNS keeps a fact. */
  readonly logAgeMs: number;
  /** The first sequence that RUNS holds. */
  readonly firstSequence: number;
  readonly instantOf: (time: string) => number;
}

/** `end`: of the run's webhook chain, which may have lost its beginning. */
export const planAttempt = (
  delivery: FinalDelivery,
  { read, end }: { readonly read: ReadRun; readonly end: WebhookEnd },
  now: number,
  settings: PlanSettings,
): AttemptPlan => {
  if (hasExpired(read, delivery.fact, settings.firstSequence)) return { kind: 'gone' };
  // A forged fact, or a run that was deleted meanwhile.
  if (read.kind === 'none' || read.kind === 'deleted') return { kind: 'nothing' };
  // The delivery stays visible as waiting, until the run can be read or expires.
  if (read.kind !== 'found') return { kind: 'unreadable', why: whyUnreadable(read) };
  const { run, history, facts, webhookFacts } = read;
  const url = run.request.webhook;
  // Forged, or one round after another: it is not due, or no longer.
  if (!isEnded(run) || url === null || end.status === 'settled') return { kind: 'nothing' };
  const { round } = end;
  if (delivery.round < round && isInTimers(delivery)) return { kind: 'nothing' };
  const attempts = round === delivery.round ? delivery.attempts : 0;
  const { isOver, giveUpAfterMs, logAgeMs, instantOf } = settings;
  const endedAt = instantOf(run.ended_at);
  const logEnd = logEndOf(oldestFactOf(facts, instantOf), logAgeMs);
  // A redelivery has as much time as the first delivery had.
  const request = webhookFacts.findLast(({ event }) => event.type === 'WebhookRedeliveryRequested');
  const wantedSince = request ? instantOf(request.time) : round === 1 ? endedAt : Infinity;
  const plannedEnd = delivery.round === round ? delivery.expiresAt : Infinity;
  const expiresAt = Math.min(plannedEnd, wantedSince + giveUpAfterMs, logEnd);
  const isExpired = now >= expiresAt && (isOver || attempts > 0);
  const kind = now >= logEnd ? 'log_expired' : isExpired ? 'expired' : 'send';
  return { kind, round, attempts, expiresAt, run, url, end, sequence: history.head, endedAt };
};

const whyUnreadable = (read: Extract<ReadRun, { kind: 'newer_version' | 'damaged' }>): string =>
  read.kind === 'damaged'
    ? read.why
    : `${read.type} is of version ${read.version}, which this release cannot read`;
