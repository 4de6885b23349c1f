/* oxlint-disable no-restricted-globals -- it parses the broker's times; it does not read the clock */
import { longestLifeMs } from '@runledger/contracts/lifetimes';
import { isExecuting, type ExecutingRun, type QueuedRun, type Run } from '@runledger/contracts/fold/run';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import type { WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import type { RunView } from '../../../projection/core/run-view.ts';
import type { LogAge } from '@runledger/event-log/messages/log-age';
import type { Envelope } from '../../current/core/envelope.ts';

/** The run has the rest. */
export type ExpiryEnvelope = Omit<Envelope, 'correlation_id' | 'traceparent'>;

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
  envelope: ExpiryEnvelope,
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
      attempt,
      cancel: isExecuting(run) ? run.cancel : null,
    },
  };
};

/** In its present round, since the facts before it may be gone too. */
export const notificationExpired = (
  { run, webhook }: RunView,
  { round, status }: WebhookEnd,
  envelope: ExpiryEnvelope,
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
