import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import { planAttempt, type AttemptPlan } from '../core/delivery/attempt-plan.ts';
import type { AttemptReport } from '../core/delivery/attempt-report.ts';
import type { FinalDelivery } from '../core/delivery/final-delivery.ts';
import { findPending } from '../timers/read-timers.ts';
import { removePending } from '../timers/write-timers.ts';
import { atLog, messageOf, type DeliveryContext } from './delivery-context.ts';
import { sendNotification } from './send-notification.ts';
import { webhookFacts, type WebhookFacts } from './webhook-facts.ts';

/** A send that takes longer is recorded, so that GET shows it. A healthy one costs one fact, not two. */
const STARTED_AFTER_MS = 100;

export interface FinalAttempt {
  readonly report: AttemptReport;
  /** To write down what follows; undefined when the run could not be read. */
  readonly facts: WebhookFacts | undefined;
}

/** Makes one attempt. Never rejects. */
export const attemptFinal = async (
  context: DeliveryContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<FinalAttempt> => {
  try {
    const plan = await planOf(context, delivery, signal);
    switch (plan.kind) {
      case 'superseded':
      case 'nothing':
        return { report: plan, facts: undefined };
      case 'unreadable':
        return failed(context, delivery, new Error(plan.why), plan);
      case 'expired':
      case 'send':
        return await carryOut(context, plan, signal);
    }
  } catch (error) {
    if (signal.aborted) return { report: { kind: 'interrupted' }, facts: undefined };
    return failed(context, delivery, error, { kind: 'failed', why: messageOf(error) });
  }
};

const failed = (
  { logger, metrics }: DeliveryContext,
  { key }: FinalDelivery,
  error: unknown,
  report: AttemptReport,
): FinalAttempt => {
  const { run_id } = key;
  logger.error({ err: error, run_id }, 'a notification could not be made; it is attempted again');
  metrics.attempted('final', 'internal_error');
  return { report, facts: undefined };
};

const planOf = async (
  context: DeliveryContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<AttemptPlan | { readonly kind: 'superseded' }> => {
  const { log, now, giveUpAfterMs } = context;
  const { key, source } = delivery;
  const retrying = atLog(context, signal);
  if (delivery.careful && (await isSuperseded(context, delivery, signal))) return { kind: 'superseded' };
  // A replica that is behind must not make a notification look superfluous.
  const atLeast = source.kind === 'fact' ? source.sequence : await retrying(() => lastOfRun(log, key));
  const read = await retrying(() => readRun(log, key, { atLeast }));
  return planAttempt(delivery, read, now().getTime(), { giveUpAfterMs, instantOf: Date.parse });
};

/** Only what is newest in TIMERS counts, and a new round begins with nothing there. @throws the signal's reason */
export const isSuperseded = async (
  context: DeliveryContext,
  { key, origin, round, source }: FinalDelivery,
  signal: AbortSignal,
): Promise<boolean> => {
  const { log } = context;
  const retrying = atLog(context, signal);
  const at = { origin, ...key };
  const pending = await retrying(() => findPending(log, at));
  if (!pending) return false;
  if (source.kind !== 'fact') return pending.sequence > source.sequence;
  if (pending.delivery.round >= round) return true;
  await retrying(() => removePending(log, at));
  return false;
};

type DuePlan = Extract<AttemptPlan, { kind: 'send' | 'expired' }>;

const carryOut = async (
  context: DeliveryContext,
  { kind, run, url, webhook, sequence, endedAt, ...progress }: DuePlan,
  signal: AbortSignal,
): Promise<FinalAttempt> => {
  const facts = webhookFacts(context, run, webhook, signal);
  const { round, attempts, expiresAt } = progress;
  if (kind === 'expired') return { report: { kind, round, attempts, expiresAt }, facts };
  const starting = setTimeout(() => void facts.started('final').catch(() => undefined), STARTED_AFTER_MS);
  try {
    const notification = {
      kind: 'final',
      webhook_id: finalWebhookId(run.run_id),
      run,
      url,
      sequence,
      report: undefined,
      round,
      attempt: attempts + 1,
    } as const;
    const result = await sendNotification(context, notification, signal);
    return { report: { kind: 'sent', result, endedAt, round, attempts, expiresAt }, facts };
  } finally {
    clearTimeout(starting);
  }
};

/** The same for every attempt, and for every redelivery: it is one message, and receivers recognise it. */
export const finalWebhookId = (run_id: string): string => `msg_${run_id}`;
