import type { ProgressReport } from '@runledger/contracts/events/activity';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import { lastProgress } from '@runledger/event-log/streams/activity';
import type { AttemptReport } from '../core/delivery/attempt-report.ts';
import type { Effect } from '../core/state/effect.ts';
import { atLog, messageOf, type DeliveryContext } from './delivery-context.ts';
import { sendNotification } from './send-notification.ts';
import { webhookFacts } from './webhook-facts.ts';

type Intermediate = Extract<Effect, { type: 'attempt_intermediate' }>;

/** Sends the run as it is now. One attempt: the next notification says more. Never rejects. */
export const attemptIntermediate = async (
  context: DeliveryContext,
  effect: Intermediate,
  signal: AbortSignal,
): Promise<AttemptReport> => {
  try {
    return await attempt(context, effect, signal);
  } catch (error) {
    if (signal.aborted) return { kind: 'interrupted' };
    const { run_id } = effect.key;
    context.logger.error({ err: error, run_id }, 'an intermediate notification could not be made');
    context.metrics.attempted('intermediate', 'internal_error');
    return { kind: 'failed', why: messageOf(error) };
  }
};

const attempt = async (
  context: DeliveryContext,
  { key, atLeast }: Intermediate,
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
  // Each says something else, and none is sent again.
  const webhook_id = `msg_${run.run_id}_${sequence}_${Math.floor(Math.random() * 2 ** 48).toString(36)}`;
  const report = await progressOf(context, run);
  const notification = {
    kind: 'intermediate',
    webhook_id,
    run,
    url,
    sequence,
    report,
    round,
    attempt: 1,
  } as const;
  const result = await sendNotification(context, notification, signal);
  await webhookFacts(context, run, webhook, signal).started('intermediate');
  return { kind: 'sent', result, round, attempts: 0, expiresAt: Infinity, endedAt: Infinity };
};

const progressOf = async ({ log }: DeliveryContext, run: Run): Promise<ProgressReport | undefined> => {
  if (!isExecuting(run)) return undefined;
  const { number, executor_id } = run.attempt;
  return lastProgress(log, run, number, executor_id);
};
