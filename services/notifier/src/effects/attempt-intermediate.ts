import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { lastOfRun, readRun } from '@runledger/event-log/read/read-run';
import type { Sent } from '../core/receivers/receiver.ts';
import { sendNotification } from './send-notification.ts';
import type { DeliveryContext } from './delivery-context.ts';
import { webhookFacts } from './webhook-facts.ts';

/** Tells what the run is now. One try: what comes next says more. Never rejects. */
export const attemptIntermediate = async (
  parts: DeliveryContext,
  key: RunKey,
  atLeast: number,
  signal: AbortSignal,
): Promise<Sent> => {
  try {
    return await attempt(parts, key, atLeast, signal);
  } catch (error) {
    if (signal.aborted) return 'interrupted';
    parts.logger.error({ err: error, run_id: key.run_id }, 'an intermediate notification could not be made');
    parts.metrics.tried('intermediate', 'internal_error');
    return 'internal_error';
  }
};

const attempt = async (
  parts: DeliveryContext,
  key: RunKey,
  atLeast: number,
  signal: AbortSignal,
): Promise<Sent> => {
  const { log, logger, random } = parts;
  // What progress alone brings about must not be told of an earlier state by a replica that is behind.
  const known =
    atLeast > 0 ? atLeast : await retryWhileUnavailable({ signal, logger }, () => lastOfRun(log, key));
  const read = await retryWhileUnavailable({ signal, logger }, () => readRun(log, key, { atLeast: known }));
  if (read.kind !== 'found' || !read.webhook || isEnded(read.run)) return 'nothing';
  const { run, webhook, history } = read;
  const { webhook: callback, webhook_intermediate_status: wanted } = run.request;
  if (callback === null || !wanted || isSettled(webhook.state)) return 'nothing';
  const report = await progressOf(parts, run);
  const round = roundOf(webhook.state);
  // Each tells something else, and none is sent again.
  const webhook_id = `msg_${run.run_id}_${history.head}_${Math.floor(random() * 2 ** 48).toString(36)}`;
  const sequence = history.head;
  const notification = {
    kind: 'intermediate',
    webhook_id,
    run,
    callback,
    sequence,
    report,
    round,
    try: 1,
  } as const;
  const { reason } = await sendNotification(parts, notification, signal);
  await webhookFacts(parts, run, webhook, signal).started('intermediate');
  return reason;
};

const progressOf = async ({ log }: DeliveryContext, run: Run): Promise<ProgressReport | undefined> => {
  if (!isExecuting(run)) return undefined;
  const { number, executor_id } = run.attempt;
  return lastProgress(log, run, number, executor_id);
};
