import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import { removePending, findPending } from '../timers/timers.ts';
import type { SendResult } from '../sending/sender.ts';
import type { AfterTry, FinalDelivery } from '../delivering/final-delivery.ts';
import { followAnswer, postpone } from './record-outcome.ts';
import { sendNotification } from './send-notification.ts';
import type { DeliveryContext } from './delivery-context.ts';
import { webhookFacts } from './webhook-facts.ts';

/** A send that takes longer is told of, so that GET shows it; a healthy one costs one fact, not two. */
const TELL_AFTER_MS = 100;

/** A run whose facts cannot be read is looked at again after so long. */
const DAMAGED_MS = 600_000;

/** Makes the next try of a delivery and writes down what follows from it. Never rejects. */
export const attemptFinal = async (
  parts: DeliveryContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<AfterTry> => {
  try {
    return await attempt(parts, delivery, signal);
  } catch (error) {
    if (signal.aborted) return { sent: 'interrupted', end: 'interrupted' };
    return await postpone(parts, delivery, error, signal);
  }
};

const attempt = async (
  parts: DeliveryContext,
  delivery: FinalDelivery,
  signal: AbortSignal,
): Promise<AfterTry> => {
  const { log, logger } = parts;
  const { key, source } = delivery;
  const nothing: AfterTry = { sent: 'nothing', end: 'settled' };
  if (delivery.careful && (await isSuperseded(parts, delivery, signal))) {
    return { sent: 'nothing', end: 'superseded' };
  }
  // A replica that is behind must not make a notification look superfluous.
  const atLeast =
    source.kind === 'fact'
      ? source.sequence
      : await retryWhileUnavailable({ signal, logger }, () => lastOfRun(log, key));
  const read = await retryWhileUnavailable({ signal, logger }, () => readRun(log, key, { atLeast }));
  // No such run (any more): a forged fact, or one whose run has expired.
  if (read.kind === 'none') return nothing;
  if (read.kind !== 'found' || !read.webhook) {
    const why =
      read.kind === 'newer_version'
        ? `${read.type} is of version ${read.version}, which this release cannot read`
        : read.kind === 'damaged'
          ? read.why
          : 'its webhook facts do not hang together';
    // It stays where a person sees it, until somebody mends it or the run expires.
    return postpone(parts, delivery, new Error(why), signal, DAMAGED_MS);
  }
  const { run, webhook, history } = read;
  const { webhook: callback } = run.request;
  // A forged fact, or one round after another: what is due is not, or no longer.
  if (!isEnded(run) || callback === null || isSettled(webhook.state)) return nothing;
  if (delivery.round < roundOf(webhook.state) && source.kind !== 'fact') return nothing;
  return bringOn(parts, { delivery, run, callback, webhook, sequence: history.head }, signal);
};

/** Only what is newest in TIMERS counts; a new round begins with nothing there. @throws the signal's reason */
export const isSuperseded = async (
  { log, logger }: DeliveryContext,
  { key, origin, round, source }: FinalDelivery,
  signal: AbortSignal,
): Promise<boolean> => {
  const at = { origin, ...key };
  const pending = await retryWhileUnavailable({ signal, logger }, () => findPending(log, at));
  if (!pending) return false;
  if (source.kind !== 'fact') return pending.sequence > source.sequence;
  if (pending.delivery.round >= round) return true;
  await retryWhileUnavailable({ signal, logger }, () => removePending(log, at));
  return false;
};

interface Ready {
  readonly delivery: FinalDelivery;
  readonly run: EndedRun;
  readonly callback: string;
  readonly webhook: WebhookHistory;
  readonly sequence: number;
}

const bringOn = async (parts: DeliveryContext, ready: Ready, signal: AbortSignal): Promise<AfterTry> => {
  const { delivery, run, callback, webhook, sequence } = ready;
  const facts = webhookFacts(parts, run, webhook, signal);
  const { round } = facts;
  const tries = round === delivery.round ? delivery.tries : 0;
  // The same on every try, and on every redelivery: it is one message, and receivers know it again.
  const webhook_id = `msg_${run.run_id}`;
  const expires = Math.min(Date.parse(delivery.expires_at), Date.parse(run.ended_at) + parts.giveUpAfterMs);
  // Whoever asks for a redelivery gets at least one try.
  const mayExpire = round === 1 || tries > 0;
  if (mayExpire && parts.now().getTime() >= expires) {
    const hours = Math.round(parts.giveUpAfterMs / 360_000) / 10;
    const message = `The receiver took nothing for ${hours} h after the run ended. Ask for a redelivery while the run is in the log.`;
    await facts.givenUp({ webhook_id, tries, reason: 'expired', last_reason: null, status: null, message });
    parts.metrics.settled('expired');
    return { sent: 'nothing', end: 'settled' };
  }
  const telling = setTimeout(() => void facts.started('final').catch(() => undefined), TELL_AFTER_MS);
  const notification = {
    kind: 'final',
    webhook_id,
    run,
    callback,
    sequence,
    report: undefined,
    round,
    try: tries + 1,
  } as const;
  let answered: SendResult;
  try {
    answered = await sendNotification(parts, notification, signal);
  } finally {
    clearTimeout(telling);
  }
  const expires_at = new Date(expires).toISOString();
  const tried = { delivery: { ...delivery, expires_at }, run, facts, tries, webhook_id };
  return followAnswer(parts, tried, answered, signal);
};
