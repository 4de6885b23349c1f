import type { RunKey } from '@runledger/contracts/events/subjects';
import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { isEnded, type EndedRun, type RunFact } from '@runledger/contracts/fold/run';
import type { ReadRun, WebhookEnd } from '@runledger/event-log/read/read-run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';

/** The final notification of a run, until its receiver has accepted it or it is given up. */
export interface FinalDelivery {
  readonly key: RunKey;
  readonly origin: string;
  /** That of the origin. */
  readonly partition: number;
  /** 1, and one more with every redelivery. */
  readonly round: number;
  /** Made so far in this round. */
  readonly attempts: number;
  /** Nothing is attempted after it. Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Of RUNS: the fact that it follows from, which is the run's end or the request to send it again. */
  readonly fact: number;
  /**
   * What keeps it until it is settled: its fact in RUNS, which holds back the position of the partition (`fact`) or was found behind
   * it by the reconciliation (`log`), or a message in TIMERS.
   */
  readonly source: { readonly kind: 'fact' | 'log' | 'due' | 'deferred'; readonly sequence: number };
  /** Another notifier may have continued it, or it is a redelivery: TIMERS is read before it is sent. */
  readonly mayBeSuperseded: boolean;
}

/** Whether TIMERS holds a message of it already. */
export const isInTimers = ({ source: { kind } }: FinalDelivery): boolean =>
  kind === 'due' || kind === 'deferred';

/** Work of the notifier that did not come to its end. */
export type Failed =
  /** Nothing of it counts: this process stops, or lost the partition. */
  | { readonly kind: 'interrupted' }
  /** The notifier itself failed. */
  | { readonly kind: 'failed'; readonly why: string };

/** How an attempt went. */
export type AttemptReport =
  | Failed
  /** A newer message in TIMERS replaces the delivery. */
  | { readonly kind: 'superseded' }
  /** There was nothing to send: the run is settled, or not there (any more). */
  | { readonly kind: 'nothing' }
  /** The run cannot be read, or only by a later release. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** Nothing was sent: the time for it is over. */
  | ({ readonly kind: 'time_over' } & Progress)
  /** Nothing was sent: the run's facts leave the log, or have left it. */
  | { readonly kind: 'log_expired'; readonly attempts: number }
  | ({ readonly kind: 'sent'; readonly result: SentResult; readonly endedAt: number } & Progress);

/** The progress of a delivery, from the run's facts. */
export interface Progress {
  readonly round: number;
  /** Made in this round before this one. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What the receiver did. */
export interface SentResult {
  readonly reason: DeliveryAttemptResult;
  readonly message: string;
  readonly status: number | null;
  /** The header Retry-After as it came. */
  readonly retry_after: string | null;
}

/** What an attempt has to do, from the run's facts. */
export type AttemptPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unreadable'; readonly why: string }
  | ({ readonly kind: 'send' | 'time_over' | 'log_expired' } & Progress & DueRun)
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

interface PlanSettings {
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
  const isTimeOver = now >= expiresAt && (isOver || attempts > 0);
  const kind = now >= logEnd ? 'log_expired' : isTimeOver ? 'time_over' : 'send';
  return { kind, round, attempts, expiresAt, run, url, end, sequence: history.head, endedAt };
};

const whyUnreadable = (read: Extract<ReadRun, { kind: 'newer_version' | 'damaged' }>): string =>
  read.kind === 'damaged'
    ? read.why
    : `${read.type} is of version ${read.version}, which this release cannot read`;

const HOUR_MS = 3_600_000;
/** Enough to write down that a notification is given up, also when the notifier was away for a moment. */
const LONGEST_BEFORE_MS = HOUR_MS;
const BEFORE_PART = 0.1;

/** When a run is about to leave the log. All in milliseconds; Infinity when the log keeps everything. */
export const logEndOf = (oldestFactAt: number, logAgeMs: number): number =>
  oldestFactAt + logAgeMs - Math.min(LONGEST_BEFORE_MS, logAgeMs * BEFORE_PART);

/** The time of the oldest fact that a run is read from: the first one, unless a later one has the whole history. */
export const oldestFactOf = (facts: readonly RunFact[], instantOf: (time: string) => number): number => {
  const whole = facts.findLast(({ event }) => RUN_CHAIN.needs(event) === 'nothing') ?? facts[0];
  return instantOf(whole?.time ?? '');
};

/** Whether the beginning of a run has left the log. `fact`: the sequence of a fact of the run; `firstSequence`: the first that the log holds. */
export const hasExpired = (read: ReadRun, fact: number, firstSequence: number): boolean => {
  if (read.kind === 'none') return fact < firstSequence;
  return read.kind === 'damaged' && read.after === 0 && read.expected < firstSequence;
};
