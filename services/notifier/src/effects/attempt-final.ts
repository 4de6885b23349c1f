import type { RunId } from '@runledger/contracts/ids';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import { readWebhookEnd, webhookEndOf } from '@runledger/event-log/read/read-webhook-end';
import { planAttempt, type AttemptPlan } from '../core/delivery/attempt-plan.ts';
import type { AttemptReport } from '../core/delivery/attempt-report.ts';
import { isInTimers, type FinalDelivery } from '../core/delivery/final-delivery.ts';
import { findPending } from '../timers/read-timers.ts';
import { removePending } from '../timers/write-timers.ts';
import { atLog, guarded, type EffectContext, type EffectOf } from './effect-context.ts';
import { sendNotification } from './send-notification.ts';
import { webhookFacts } from './webhook-facts.ts';

/** A send that takes longer is recorded, so that GET shows it. A healthy one costs one fact, not two. */
const STARTED_AFTER_MS = 100;
const FAILURE = 'a notification could not be made; it is attempted again';

/** Makes one attempt. */
export const attemptFinal = async (
  context: EffectContext,
  { attempt, delivery, isOver }: EffectOf<'attempt_final'>,
): Promise<void> => {
  const { signalOf, take, facts } = context;
  const signal = signalOf(delivery.partition);
  const work = { signal, key: delivery.key, notification: 'final', failure: FAILURE } as const;
  const report = await guarded(context, work, async () => {
    if (delivery.mayBeSuperseded && (await isSuperseded(context, delivery, signal)))
      return { kind: 'superseded' } as const;
    const plan = await planOf(context, delivery, isOver, signal);
    return plan.kind === 'gone'
      ? giveUpGone(context, attempt, delivery, signal)
      : carryOut(context, attempt, plan, signal);
  });
  take({ type: 'attempt_finished', attempt, report });
  // A conclusion that the core decided on has started already, with these facts.
  facts.delete(attempt);
};

const planOf = async (
  context: EffectContext,
  delivery: FinalDelivery,
  isOver: boolean,
  signal: AbortSignal,
): Promise<AttemptPlan> => {
  const { log, now, metrics, giveUpAfterMs, logAgeMs } = context;
  const { key, fact, source } = delivery;
  const retrying = atLog(context, signal);
  // A replica that is behind must not make a notification look unnecessary.
  const atLeast = source.kind === 'fact' ? fact : await retrying(() => lastOfRun(log, key));
  const read = await retrying(() => readRun(log, key, { atLeast }));
  const firstSequence = read.kind === 'found' ? 0 : (await retrying(() => runsIdentity(log))).firstSequence;
  const end = await retrying(() => webhookEndOf(log, key, read));
  const plan = planAttempt(delivery, { read, end }, now().getTime(), {
    isOver,
    giveUpAfterMs,
    logAgeMs: logAgeMs(),
    firstSequence,
    instantOf: Date.parse,
  });
  if (plan.kind === 'unreadable') {
    log.logger.error({ err: new Error(plan.why), run_id: key.run_id }, FAILURE);
    metrics.attempted('final', 'internal_error');
  }
  return plan;
};

/** Only what is newest in TIMERS counts, and a new round begins with nothing there. @throws the signal's reason */
export const isSuperseded = async (
  context: EffectContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<boolean> => {
  const { log } = context;
  const { key, origin, round, source } = delivery;
  const retrying = atLog(context, signal);
  const at = { origin, ...key };
  const pending = await retrying(() => findPending(log, at));
  if (!pending) return false;
  if (isInTimers(delivery)) return pending.sequence > source.sequence;
  if (pending.delivery.round >= round) return true;
  await retrying(() => removePending(log, at));
  return false;
};

/** The run cannot be read any more, but its webhook chain can be continued: a view of the run still shows the outcome. */
const giveUpGone = async (
  context: EffectContext,
  attempt: number,
  { key, attempts, round }: FinalDelivery,
  signal: AbortSignal,
): Promise<AttemptReport> => {
  const end = await atLog(context, signal)(() => readWebhookEnd(context.log, key));
  if (end.status === 'settled') return { kind: 'nothing' };
  // Its correlation id is gone with its first fact.
  const about = { ...key, correlation_id: key.run_id, traceparent: null };
  const known = end.status === 'none' ? { ...end, round } : end;
  context.facts.set(attempt, webhookFacts(context, about, known, signal));
  return { kind: 'log_expired', attempts };
};

const carryOut = async (
  context: EffectContext,
  attempt: number,
  plan: Exclude<AttemptPlan, { kind: 'gone' }>,
  signal: AbortSignal,
): Promise<AttemptReport> => {
  if (plan.kind === 'nothing' || plan.kind === 'unreadable') return plan;
  const { kind, run, url, end, sequence, endedAt, ...progress } = plan;
  const facts = webhookFacts(context, run, end, signal);
  context.facts.set(attempt, facts);
  if (kind !== 'send') return { kind, ...progress };
  const started = (): Promise<void> => facts.append('WebhookStarted', { notification: 'final' });
  const starting = setTimeout(() => void started().catch(() => undefined), STARTED_AFTER_MS);
  try {
    const result = await sendNotification(
      context,
      {
        kind: 'final',
        webhook_id: finalWebhookId(run.run_id),
        run,
        url,
        sequence,
        report: undefined,
        round: progress.round,
        attempt: progress.attempts + 1,
      },
      signal,
    );
    return { kind: 'sent', result, endedAt, ...progress };
  } finally {
    clearTimeout(starting);
  }
};

/** The same for every attempt, and for every redelivery: it is one message, and receivers recognise it. */
export const finalWebhookId = (run_id: RunId): string => `msg_${run_id}`;
