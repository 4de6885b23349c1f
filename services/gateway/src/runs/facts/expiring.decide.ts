import { longestLifeMs } from '@runledger/contracts/lifetimes';
import {
  isExecuting,
  isDeleted,
  isEnded,
  type ExecutingRun,
  type QueuedRun,
  type Run,
  type RunState,
} from '@runledger/contracts/fold/run';
import { coldPartsOf } from '@runledger/contracts/fold/run-ending';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { roundOf, isSettled } from '@runledger/contracts/fold/webhook';
import type { WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import type { WebhookEnd } from '@runledger/event-log/read/read-run';
import type { LogAge } from '@runledger/event-log/read/stream-identity';
import type { RunView, StoredView } from '../../views/run-view.ts';
import type { OwnEnvelope } from '@runledger/contracts/events/event-envelope';

/* oxlint-disable no-restricted-globals -- it parses the broker's times; it does not read the clock */

/** The first facts of runs that were created before this time have expired, or expire within the margin. */
export const expiringBefore = ({ now, maxAgeMs, beginsAt }: LogAge): Date =>
  new Date(Math.max(beginsAt, now - longestLifeMs(maxAgeMs)));

/** The log holds a whole run also when its first message says a later time: clocks of brokers differ. */
export const isExpiring = ({ created_at }: Run, log: LogAge, isWhole: boolean): boolean =>
  Date.parse(created_at) < expiringBefore(isWhole ? { ...log, beginsAt: -Infinity } : log).getTime();

/** The end of a run that the log no longer holds, or is about to lose: everything that is known of it. */
export const runExpired = (
  run: QueuedRun | ExecutingRun,
  { maxAgeMs, beginsAt }: LogAge,
  envelope: OwnEnvelope,
): RunEventOf<'RunExpired'> => {
  const { number, request, created_at, queued_at, attempt, correlation_id, traceparent } = run;
  const isGone = Date.parse(created_at) < beginsAt;
  return {
    ...envelope,
    type: 'RunExpired',
    version: 1,
    correlation_id,
    causation_id: null,
    traceparent,
    attempt: attempt?.number ?? 0,
    executor_id: isExecuting(run) ? run.attempt.executor_id : null,
    data: {
      message: messageOf(isGone, maxAgeMs),
      number,
      request,
      created_at,
      queued_at,
      started_at: 'started_at' in run ? run.started_at : null,
      cold_start_s: 'cold_start_s' in run ? run.cold_start_s : null,
      ...('cold_start_s' in run ? coldPartsOf(run) : {}),
      attempt,
      cancel: isExecuting(run) ? run.cancel : null,
    },
  };
};

/** In its present round, since the facts before it may be gone too. */
export const notificationExpired = (
  { run, webhook }: RunView,
  { round, status }: WebhookEnd,
  envelope: OwnEnvelope,
  message = LOST_WITH_THE_LOG,
): WebhookEventOf<'WebhookExpired'> => ({
  ...envelope,
  type: 'WebhookExpired',
  version: 1,
  correlation_id: run.correlation_id,
  causation_id: null,
  traceparent: run.traceparent,
  round: status === 'none' ? roundOf(webhook.state) : round,
  data: { message },
});

const LOST_WITH_THE_LOG =
  'The log no longer holds the first event of the run, and its notification is made from there. Read the run instead. If receivers are away for so long, the operator raises runsMaxAgeMs in RUNLEDGER_LOG_SETTINGS.';

const HOUR_MS = 3_600_000;

const messageOf = (isGone: boolean, maxAgeMs: number): string => {
  const what = isGone
    ? 'no longer holds the first event of this run'
    : 'was about to lose the first event of this run';
  const kept = Number.isFinite(maxAgeMs)
    ? `, which it keeps for ${Math.round((maxAgeMs / HOUR_MS) * 10) / 10} h (runsMaxAgeMs)`
    : '';
  return (
    `The log ${what}${kept}, and without it nothing can be stored about the run. Its result, if there was one, is lost. ` +
    'Queue it again. If runs need that long, the operator raises runsMaxAgeMs in RUNLEDGER_LOG_SETTINGS.'
  );
};

/** What is known of a run whose beginning the log's leader does not have, read in this order. */
export interface LostRun {
  /** What the leader still has of its lifecycle, and the last message of it; 0 for nothing. */
  readonly held: 'a part' | 'nothing';
  readonly head: number;
  /** Whether the views had all that had left the log, after the leader was read. */
  readonly areViewsComplete: boolean;
  readonly view: StoredView | undefined;
  /** What the archive, the log and the view make of it together; undefined where the archive has nothing of it. */
  readonly archived: StoredView | undefined;
}

export type LostRunDecision =
  /** Neither the log nor the archive has more than the view says: what is not over in it is over with the log. */
  | {
      readonly kind: 'lost';
      readonly view: StoredView;
      readonly head: number;
      readonly held: LostRun['held'];
    }
  /** Some of its facts may be where they are not read yet, or expire soon. */
  | { readonly kind: 'wait' }
  /** The archive knows how the run ended, or its notification, and the view does not. */
  | { readonly kind: 'recover'; readonly view: StoredView };

/**
 * Whether something of a run may end because the log has lost it. Only what left the log without that anybody read or archived it may get
 * another end than the one that it had: so each place that may know the end is read first. What left the log before it was read is in complete
 * views; what came later is refused by the fence of the append.
 */
export const decideLost = ({ held, head, areViewsComplete, view, archived }: LostRun): LostRunDecision => {
  if (!areViewsComplete || !view) return { kind: 'wait' };
  // The rest may hold the end.
  if (held === 'a part' && view.head !== head) return { kind: 'wait' };
  return archived && knowsMore(archived, view)
    ? { kind: 'recover', view: archived }
    : { kind: 'lost', view, head, held };
};

/** An end of the run, of its notification, or of both. A view that is behind may be of another log, where positions say nothing. */
const knowsMore = (archived: StoredView, { run, webhook }: StoredView): boolean =>
  (isOver(archived.run) && !isOver(run)) || (isSettled(archived.webhook.state) && !isSettled(webhook.state));

const isOver = (run: RunState): boolean => isDeleted(run) || isEnded(run);
