import type { WebhookHeaders } from '@runledger/contracts/deliveries/webhook-headers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunId } from '@runledger/contracts/ids';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { lastOfRun, readRun, readWebhookEnd, webhookEndOf, endOf } from '@runledger/event-log/read/read-run';
import type { ProgressReport } from '@runledger/contracts/events/progress';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { type DeliveryAttempt, withoutQuery } from '@runledger/contracts/deliveries/delivery-attempts';
import { errorMessage } from '@runledger/contracts/events/run-error';
import { WEBHOOK_PAYLOAD_VERSION, webhookBody } from '@runledger/contracts/deliveries/webhook-payload';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { inSpan, markFailed } from '@runledger/service-kit/spans';
import { readCallbackUrl } from '@runledger/webhooks/callback-policy';
import { signedHeaders } from '@runledger/webhooks/signature';
import {
  planAttempt,
  type AttemptPlan,
  type AttemptReport,
  isInTimers,
  type FinalDelivery,
} from '../core/delivery.ts';
import { findPending, removePending } from '../timers.ts';
import { atLog, guarded, type EffectContext, type EffectOf, webhookFacts } from './effect-context.ts';
import type { SendResult } from '../sender.ts';

/** A send that takes longer is recorded, so that GET shows it. A healthy one costs one fact, not two. */
const STARTED_AFTER_MS = 100;
const FAILURE = 'a notification could not be made; it is attempted again';

/** Makes one attempt. */
export const attemptFinal = async (
  context: EffectContext,
  { attempt, delivery, isOver }: EffectOf<'attempt_final'>,
): Promise<void> => {
  const { signalOf, handle, facts } = context;
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
  handle({ type: 'attempt_finished', attempt, report });
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

/** Sends the run as it is now. There is one attempt: the next notification contains more. */
export const attemptIntermediate = async (
  context: EffectContext,
  effect: EffectOf<'attempt_intermediate'>,
): Promise<void> => {
  const { attempt, partition, key } = effect;
  const signal = context.signalOf(partition);
  const failure = 'an intermediate notification could not be made';
  const work = { signal, key, notification: 'intermediate', failure } as const;
  const report = await guarded(context, work, () => send(context, effect, signal));
  context.handle({ type: 'attempt_finished', attempt, report });
};

const send = async (
  context: EffectContext,
  { key, atLeast }: EffectOf<'attempt_intermediate'>,
  signal: AbortSignal,
): Promise<AttemptReport> => {
  const { log } = context;
  const retrying = atLog(context, signal);
  // A replica that is behind must not send an earlier state because of progress alone.
  const known = atLeast > 0 ? atLeast : await retrying(() => lastOfRun(log, key));
  const read = await retrying(() => readRun(log, key, { atLeast: known }));
  if (read.kind !== 'found' || !read.webhook || isEnded(read.run)) return { kind: 'nothing' };
  const { run, webhook, history } = read;
  const { webhook: url, webhook_intermediate_status: wanted } = run.request;
  if (url === null || !wanted || isSettled(webhook.state)) return { kind: 'nothing' };
  const round = roundOf(webhook.state);
  const sequence = history.head;
  // Each has other content, and none is sent again.
  const webhook_id = `msg_${run.run_id}_${sequence}_${Math.floor(Math.random() * 2 ** 48).toString(36)}`;
  const report = await progressOf(context, run);
  const notification = { webhook_id, run, url, sequence, report, round, attempt: 1 };
  const result = await sendNotification(context, { kind: 'intermediate', ...notification }, signal);
  await webhookFacts(context, run, endOf(webhook), signal).append('WebhookStarted', {
    notification: 'intermediate',
  });
  return { kind: 'sent', result, round, attempts: 0, expiresAt: Infinity, endedAt: Infinity };
};

const progressOf = async ({ log }: EffectContext, run: Run): Promise<ProgressReport | undefined> => {
  if (!isExecuting(run)) return undefined;
  const { number, executor_id } = run.attempt;
  return lastProgress(log, run, number, executor_id);
};

/** One notification, as it is to be sent. */
interface Notification {
  readonly kind: 'intermediate' | 'final';
  /** The same for every attempt, so that a receiver recognises a duplicate. */
  readonly webhook_id: string;
  readonly run: Run;
  /** The webhook's, as the run has it. */
  readonly url: string;
  /** The run's head. */
  readonly sequence: number;
  readonly report: ProgressReport | undefined;
  readonly round: number;
  /** The number of the attempt in its round, from 1. */
  readonly attempt: number;
}

/** Makes one attempt and records it for people to read. @throws what prevents the signature */
const sendNotification = async (
  context: EffectContext,
  notification: Notification,
  signal: AbortSignal,
): Promise<SendResult> => {
  const { sender, secrets, lists, publicUrl, outputUrl, basePath, maxBytes, now, metrics } = context;
  const { run, missing: lost } = await atLog(context, signal)(() => lists.ofRun(notification.run));
  const { sequence, report, webhook_id: id, url } = notification;
  const runUrl = `${publicUrl}${basePath}/run/${run.run_id}`;
  const body = webhookBody({ run, lost, sequence, report, outputUrl, runUrl, maxBytes });
  const valid = await secrets.valid(run.org_id);
  await runDueTimers();
  signal.throwIfAborted();
  const started = now();
  const headers: WebhookHeaders = {
    'content-type': 'application/json',
    'user-agent': 'Runledger',
    'runledger-webhook-version': String(WEBHOOK_PAYLOAD_VERSION),
    ...signedHeaders({ id, at: started, body, secrets: valid }),
  };
  const read = readCallbackUrl(url);
  const result = read.ok
    ? await traced(notification, () => sender.send({ url: read.url, headers, body }, signal))
    : forbiddenAsWritten(read.why);
  metrics.attempted(notification.kind, result.reason);
  record(context, notification, started, result);
  return result;
};

/** The receiver is another party: it gets neither our trace nor its position in it. */
const traced = (
  { run, kind, round, attempt }: Notification,
  send: () => Promise<SendResult>,
): Promise<SendResult> => {
  const attributes = {
    'http.request.method': 'POST',
    'runledger.org_id': run.org_id,
    'runledger.run_id': run.run_id,
    'runledger.notification': kind,
    'runledger.round': round,
    'runledger.try': attempt,
  };
  return inSpan('POST webhook', { kind: 'client', parent: run.traceparent, attributes }, async (span) => {
    const result = await send();
    if (result.status !== null) span.setAttribute('http.response.status_code', result.status);
    if (result.reason !== 'accepted') markFailed(span, result.reason);
    return result;
  });
};

/**
 * Runs the timers that are due. A process that was frozen between reading a run and sending it learns from them that
 * another process holds its partition by now, and may have sent something later.
 */
const runDueTimers = async (): Promise<void> => {
  await nextTurn();
  await nextTurn();
};

/** In the background: no work depends on it. */
const record = (
  { log }: EffectContext,
  notification: Notification,
  started: Date,
  { phases, reason, message, status, answer }: SendResult,
): void => {
  const { run, kind, webhook_id, round, attempt, url } = notification;
  const made: DeliveryAttempt = {
    version: 1,
    notification: kind,
    webhook_id,
    round,
    try: attempt,
    url: displayUrl(url),
    started_at: started.toISOString(),
    phases,
    reason,
    message: errorMessage(message),
    status,
    answer,
  };
  const fields = { run_id: run.run_id, org_id: run.org_id, round, try: attempt, reason, status };
  log.logger.debug(fields, 'a notification was attempted');
  recordDeliveryAttempt(log, run, made).catch((error: unknown) => {
    log.logger.warn({ err: error, ...fields }, 'a delivery attempt could not be recorded');
  });
};

/** The text breaks a rule that its URL, once parsed, would no longer show. */
const forbiddenAsWritten = (why: string): SendResult => ({
  reason: 'forbidden',
  message: `The webhook policy does not allow the callback: ${why}.`,
  status: null,
  retry_after: null,
  phases: { dns: null, connect: null, tls: null, wait: null, body: null },
  answer: null,
});

/** Without what may be a secret: the query, and user and password, which are never sent. */
const displayUrl = (text: string): string => {
  const url = URL.parse(text);
  if (!url) return '[not a URL]';
  url.username = '';
  url.password = '';
  return withoutQuery(url.href);
};
