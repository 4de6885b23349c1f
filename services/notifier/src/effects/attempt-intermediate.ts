import type { ProgressReport } from '@runledger/contracts/events/activity';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import { endOf } from '@runledger/event-log/read/read-webhook-end';
import { lastProgress } from '@runledger/event-log/streams/activity';
import type { AttemptReport } from '../core/delivery/attempt-report.ts';
import { atLog, guarded, type EffectContext, type EffectOf } from './effect-context.ts';
import { sendNotification } from './send-notification.ts';
import { webhookFacts } from './webhook-facts.ts';

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
  context.take({ type: 'attempt_finished', attempt, report });
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
