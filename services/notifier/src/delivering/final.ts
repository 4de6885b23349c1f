import type { PendingDelivery } from '@runledger/contracts/deliveries';
import type { TryReason } from '@runledger/contracts/delivery-try';
import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import { isEnded, type EndedRun } from '@runledger/contracts/run';
import type { RunKey } from '@runledger/contracts/subjects';
import { isSettled, roundOf } from '@runledger/contracts/webhook';
import type { WebhookHistory } from '@runledger/contracts/webhook-history';
import { recordState } from '@runledger/event-log/deliveries';
import { patiently } from '@runledger/event-log/patiently';
import { lastOfRun, readRun } from '@runledger/event-log/read-run';
import { dropPending, findPending, letWait } from '@runledger/event-log/timers';
import { delayAfter, delayAfterOwnFailure, parseRetryAfter } from '../domain/schedule.ts';
import { verdictOf } from '../domain/verdict.ts';
import type { Sent } from '../dispatch/item.ts';
import type { Answered } from '../sending/sender.ts';
import { tryToSend } from './notification.ts';
import type { DeliveryParts } from './parts.ts';
import { webhookFacts, type WebhookFacts } from './webhook-facts.ts';

/** A final notification that is to be brought to its end. */
export interface FinalDelivery {
  readonly key: RunKey;
  readonly origin: string;
  readonly round: number;
  /** Made so far in this round. */
  readonly tries: number;
  /** When it was to be tried; null for one that comes from the log. */
  readonly due_at: string | null;
  /** Nothing is tried after it. */
  readonly expires_at: string;
  /** Where it stands until it is settled: a fact of the run in RUNS, or a message in TIMERS. */
  readonly source: { readonly kind: 'fact' | 'due' | 'parked'; readonly sequence: number };
  /** Another notifier may have gone on with it, or somebody asked for it again: TIMERS is asked first. */
  readonly careful: boolean;
}

export interface AfterTry {
  readonly sent: Sent;
  /** `settled`: its source is used up. `superseded`: something newer in TIMERS stands for it. `interrupted`: as before. */
  readonly end: 'settled' | 'superseded' | 'interrupted';
}

/** A send that takes longer is told of, so that GET shows it; a healthy one costs one fact, not two. */
const TELL_AFTER_MS = 100;

/** A run whose facts cannot be read is looked at again after so long. */
const DAMAGED_MS = 600_000;

/** Makes the next try of a delivery and writes down what follows from it. Never rejects. */
export const tryFinal = async (
  parts: DeliveryParts,
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
  parts: DeliveryParts,
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
    source.kind === 'fact' ? source.sequence : await patiently({ signal, logger }, () => lastOfRun(log, key));
  const read = await patiently({ signal, logger }, () => readRun(log, key, { atLeast }));
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
  if (!isEnded(run) || callback === null || isSettled(webhook.webhook)) return nothing;
  if (delivery.round < roundOf(webhook.webhook) && source.kind !== 'fact') return nothing;
  return bringOn(parts, { delivery, run, callback, webhook, sequence: history.head }, signal);
};

/** Only what is newest in TIMERS counts; a new round begins with nothing there. @throws the signal's reason */
export const isSuperseded = async (
  { log, logger }: DeliveryParts,
  { key, origin, round, source }: FinalDelivery,
  signal: AbortSignal,
): Promise<boolean> => {
  const at = { origin, ...key };
  const pending = await patiently({ signal, logger }, () => findPending(log, at));
  if (!pending) return false;
  if (source.kind !== 'fact') return pending.sequence > source.sequence;
  if (pending.delivery.round >= round) return true;
  await patiently({ signal, logger }, () => dropPending(log, at));
  return false;
};

interface Ready {
  readonly delivery: FinalDelivery;
  readonly run: EndedRun;
  readonly callback: string;
  readonly webhook: WebhookHistory;
  readonly sequence: number;
}

const bringOn = async (parts: DeliveryParts, ready: Ready, signal: AbortSignal): Promise<AfterTry> => {
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
  let answered: Answered;
  try {
    answered = await tryToSend(parts, notification, signal);
  } finally {
    clearTimeout(telling);
  }
  const expires_at = new Date(expires).toISOString();
  const tried = { ...ready, delivery: { ...delivery, expires_at }, facts, tries, webhook_id };
  return follow(parts, tried, answered, signal);
};

interface Tried extends Ready {
  readonly facts: WebhookFacts;
  /** Before this one. */
  readonly tries: number;
  readonly webhook_id: string;
}

/** What follows from an answer. */
const follow = async (
  parts: DeliveryParts,
  { delivery, run, facts, tries, webhook_id }: Tried,
  answered: Answered,
  signal: AbortSignal,
): Promise<AfterTry> => {
  const { metrics, now } = parts;
  const { reason, status, message } = answered;
  const settled: AfterTry = { sent: reason, end: 'settled' };
  const made = tries + 1;
  const last = { last_reason: reason, status, message: message.slice(0, MAX_ERROR_MESSAGE) };
  switch (verdictOf(reason)) {
    case 'interrupted':
      return { sent: reason, end: 'interrupted' };
    case 'accepted':
      await facts.delivered({ webhook_id, tries: made, status });
      metrics.settled('delivered');
      metrics.accepted((now().getTime() - Date.parse(run.ended_at)) / 1_000);
      return settled;
    case 'gone':
      await facts.givenUp({ webhook_id, tries: made, reason: 'gone', ...last });
      metrics.settled('gone');
      return settled;
    case 'own': {
      await wait(
        parts,
        { ...delivery, round: facts.round, tries },
        delayAfterOwnFailure(parts.random()),
        answered,
        signal,
      );
      return settled;
    }
    case 'failed': {
      const retryAfter = parseRetryAfter(answered.retry_after, now().getTime(), Date.parse);
      const delay = delayAfter(made, retryAfter, parts.random());
      if (delay === undefined) {
        await facts.givenUp({ webhook_id, tries: made, reason: 'tries_used_up', ...last });
        metrics.settled('tries_used_up');
        return settled;
      }
      await facts.started('final');
      await wait(parts, { ...delivery, round: facts.round, tries: made }, delay, answered, signal);
      return settled;
    }
  }
};

const wait = async (
  parts: DeliveryParts,
  delivery: FinalDelivery,
  delayMs: number,
  { reason, message }: { readonly reason: TryReason; readonly message: string },
  signal: AbortSignal,
): Promise<void> => {
  const { log, logger, now } = parts;
  // Not beyond its end: somebody is to see it given up while the run is still there.
  const end = Math.max(Date.parse(delivery.expires_at), now().getTime());
  const at = new Date(Math.min(now().getTime() + delayMs, end));
  await patiently({ signal, logger }, () => letWait(log, pendingOf(delivery, at), at));
  const { round, tries, key } = delivery;
  const next_try_at = at.toISOString();
  const state = { version: 1, round, state: 'retrying', tries, next_try_at, last_reason: reason } as const;
  recordState(log, key, {
    ...state,
    message: message.slice(0, MAX_ERROR_MESSAGE),
    at: now().toISOString(),
  }).catch((error: unknown) =>
    logger.warn({ err: error, run_id: key.run_id }, 'where a delivery stands could not be kept'),
  );
};

export const pendingOf = (
  { key, origin, round, tries, expires_at }: FinalDelivery,
  at: Date,
): PendingDelivery => ({
  version: 1,
  ...key,
  origin,
  round,
  tries,
  due_at: at.toISOString(),
  expires_at,
});

/** Something of our own went wrong: the delivery waits a while, and no try is used up. */
const postpone = async (
  parts: DeliveryParts,
  delivery: FinalDelivery,
  error: unknown,
  signal: AbortSignal,
  delay = delayAfterOwnFailure(parts.random()),
): Promise<AfterTry> => {
  const { run_id } = delivery.key;
  parts.logger.error({ err: error, run_id }, 'a notification could not be made; it is tried again');
  parts.metrics.tried('final', 'internal_error');
  const message = `The notifier could not make the notification: ${error instanceof Error ? error.message : String(error)}`;
  try {
    await wait(parts, delivery, delay, { reason: 'internal_error', message }, signal);
    return { sent: 'internal_error', end: 'settled' };
  } catch (again) {
    if (!signal.aborted) parts.logger.error({ err: again, run_id }, 'a notification could not be put off');
    return { sent: 'interrupted', end: 'interrupted' };
  }
};
