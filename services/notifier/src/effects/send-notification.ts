import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { DeliveryAttempt } from '@runledger/contracts/deliveries/deliveries';
import { withoutQuery } from '@runledger/contracts/deliveries/deliveries';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import type { Run } from '@runledger/contracts/fold/run';
import { WEBHOOK_PAYLOAD_VERSION, webhookBody } from '@runledger/contracts/deliveries/webhook-payload';
import { recordDeliveryAttempt } from '@runledger/event-log/streams/delivery-attempts';
import { inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import { readCallbackUrl } from '@runledger/webhooks/policy/callback-url';
import { signedHeaders } from '@runledger/webhooks/signing/signature';
import type { SendResult } from '../sending/sender.ts';
import type { DeliveryContext } from './delivery-context.ts';

/** One notification, as it is to be sent. */
export interface Notification {
  readonly kind: 'intermediate' | 'final';
  /** The same on every try, so that a receiver knows it again. */
  readonly webhook_id: string;
  readonly run: Run;
  /** As it stands in the run. */
  readonly callback: string;
  /** The run's head. */
  readonly sequence: number;
  readonly report: ProgressReport | undefined;
  readonly round: number;
  /** From 1. */
  readonly try: number;
}

/** Makes one try and keeps it for people to read. @throws what keeps it from being signed */
export const sendNotification = async (
  parts: DeliveryContext,
  notification: Notification,
  signal: AbortSignal,
): Promise<SendResult> => {
  const { sender, secrets, publicUrl, basePath, maxBytes, now, metrics } = parts;
  const { run, sequence, report, webhook_id: id, callback } = notification;
  const runUrl = `${publicUrl}${basePath}/run/${run.run_id}`;
  const body = webhookBody({ run, sequence, report, publicUrl, runUrl, maxBytes });
  const valid = await secrets.valid(run.org_id);
  await dueTimers();
  signal.throwIfAborted();
  const started = now();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Runledger',
    'runledger-webhook-version': String(WEBHOOK_PAYLOAD_VERSION),
    ...signedHeaders({ id, at: started, body, secrets: valid }),
  };
  const read = readCallbackUrl(callback);
  const answered = read.ok
    ? await traced(notification, () => sender.send({ url: read.url, headers, body }, signal))
    : refusedAsWritten(read.why);
  metrics.tried(notification.kind, answered.reason);
  keep(parts, notification, started, answered);
  return answered;
};

/** The receiver is another party: it is told neither of our traces, nor where it is in them. */
const traced = (
  { run, kind, round, try: number }: Notification,
  send: () => Promise<SendResult>,
): Promise<SendResult> => {
  const attributes = {
    'http.request.method': 'POST',
    'runledger.org_id': run.org_id,
    'runledger.run_id': run.run_id,
    'runledger.notification': kind,
    'runledger.round': round,
    'runledger.try': number,
  };
  return inSpan('POST webhook', { kind: 'client', parent: run.traceparent, attributes }, async (span) => {
    const answered = await send();
    if (answered.status !== null) span.setAttribute('http.response.status_code', answered.status);
    if (answered.reason !== 'accepted') markFailed(span, answered.reason);
    return answered;
  });
};

/**
 * Lets timers speak that are due. A process that was frozen between reading a run and telling of it learns from them that
 * its share is another's by now, which may have told of something later.
 */
const dueTimers = async (): Promise<void> => {
  await nextTurn();
  await nextTurn();
};

/** In the background: nobody waits for what is only to be read. */
const keep = (
  { log, logger }: DeliveryContext,
  notification: Notification,
  started: Date,
  answered: SendResult,
): void => {
  const { run, kind, webhook_id, round, callback } = notification;
  const { phases, reason, message, status, answer } = answered;
  const made: DeliveryAttempt = {
    version: 1,
    notification: kind,
    webhook_id,
    round,
    try: notification.try,
    url: shown(callback),
    started_at: started.toISOString(),
    phases,
    reason,
    message: message.slice(0, MAX_ERROR_MESSAGE),
    status,
    answer,
  };
  const fields = { run_id: run.run_id, org_id: run.org_id, round, try: notification.try, reason, status };
  logger.debug(fields, 'a notification was tried');
  recordDeliveryAttempt(log, run, made).catch((error: unknown) => {
    logger.warn({ err: error, ...fields }, 'a try could not be recorded');
  });
};

/** The text breaks a rule that its URL, once parsed, would no longer show. */
const refusedAsWritten = (why: string): SendResult => ({
  reason: 'forbidden',
  message: `The webhook policy does not allow the callback: ${why}.`,
  status: null,
  retry_after: null,
  phases: { dns: null, connect: null, tls: null, wait: null, body: null },
  answer: null,
});

/** Without what may be a secret: the query, and a password, with which it is never sent. */
const shown = (callback: string): string => {
  const url = URL.parse(callback);
  if (!url) return '[not a URL]';
  url.username = '';
  url.password = '';
  return withoutQuery(url.href);
};
