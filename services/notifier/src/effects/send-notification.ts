import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { DeliveryAttempt } from '@runledger/contracts/deliveries/delivery-attempts';
import { withoutQuery } from '@runledger/contracts/deliveries/delivery-attempts';
import { errorMessage } from '@runledger/contracts/events/error-message';
import type { Run } from '@runledger/contracts/fold/run';
import type { WebhookHeaders } from '@runledger/contracts/deliveries/webhook-headers';
import { WEBHOOK_PAYLOAD_VERSION, webhookBody } from '@runledger/contracts/deliveries/webhook-payload';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import { readCallbackUrl } from '@runledger/webhooks/policy/callback-url';
import { signedHeaders } from '@runledger/webhooks/signing/signature';
import type { SendResult } from '../sending/sender.ts';
import { atLog, type EffectContext } from './effect-context.ts';

/** One notification, as it is to be sent. */
export interface Notification {
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
export const sendNotification = async (
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
