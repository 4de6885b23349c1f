import { newUuid } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookEventOf, WebhookEventType } from '@runledger/contracts/events/webhook-event';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import type { RunLog } from '@runledger/event-log/messages/run-messages';
import { readRun } from '@runledger/event-log/read/read-run';
import { atLog, type EffectContext } from './effect-context.ts';

type NotifierEvent = Exclude<WebhookEventType, 'WebhookRedeliveryRequested'>;

type FactsContext = Pick<EffectContext, 'now' | 'instance'> & { readonly log: RunLog };

/** Appends the facts about a run's notifications in one round, each on the one before. */
export interface WebhookFacts {
  /** Does nothing when the round is over, or when it is known that sending has begun. @throws the signal's reason */
  append<Type extends NotifierEvent>(type: Type, data: WebhookEventOf<Type>['data']): Promise<void>;
}

export const webhookFacts = (
  context: FactsContext,
  run: Run,
  read: WebhookHistory,
  signal: AbortSignal,
): WebhookFacts => {
  const { log } = context;
  const round = roundOf(read.state);
  let known = read;
  let last: Promise<void> = Promise.resolve();

  const append = async <Type extends NotifierEvent>(
    type: Type,
    data: WebhookEventOf<Type>['data'],
  ): Promise<void> => {
    const event = eventOf(context, run, { type, round, data });
    const appended = await decideAndAppend(log, {
      read: async (atLeast) => (atLeast === undefined ? known : readWebhook(context, run, atLeast)),
      decide: (history) =>
        isOver(history, type, round)
          ? { kind: 'answer', answer: history }
          : { kind: 'append', event, expected: history.head, answer: history },
      maxAttempts: Infinity,
      around: atLog(context, signal),
    });
    if (appended.kind === 'too_busy') return;
    const state =
      type === 'WebhookStarted'
        ? ({ status: 'running', round, updated_at: event.time } as const)
        : appended.answer.state;
    known = appended.kind === 'answered' ? appended.answer : { head: appended.sequence, state };
  };
  return {
    append: (type, data) => {
      last = last.then(() => append(type, data));
      return last;
    },
  };
};

const isOver = ({ state }: WebhookHistory, type: NotifierEvent, round: number): boolean =>
  roundOf(state) !== round || isSettled(state) || (type === 'WebhookStarted' && state !== undefined);

const eventOf = <Type extends NotifierEvent>(
  { now, instance }: FactsContext,
  run: Run,
  of: { readonly type: Type; readonly round: number; readonly data: WebhookEventOf<Type>['data'] },
): WebhookEventOf<NotifierEvent> =>
  ({
    ...of,
    version: 1,
    event_id: newUuid(),
    run_id: run.run_id,
    org_id: run.org_id,
    time: now().toISOString(),
    writer: { service: 'notifier', instance },
    correlation_id: run.correlation_id,
    causation_id: null,
    traceparent: run.traceparent,
    // Built from its own type's members, which a union of all three cannot express.
  }) as unknown as WebhookEventOf<NotifierEvent>;

const readWebhook = async (
  { log }: FactsContext,
  { org_id, run_id }: Run,
  atLeast: number,
): Promise<WebhookHistory> => {
  const read = await readRun(log, { org_id, run_id }, { atLeast });
  if (read.kind === 'found' && read.webhook) return read.webhook;
  throw new Error(`the webhook facts of run ${run_id} cannot be read: ${read.kind}`);
};
