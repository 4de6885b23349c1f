import { newUuid } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { isSettled, roundOf } from '@runledger/contracts/fold/webhook';
import type { WebhookEventOf, WebhookEventType } from '@runledger/contracts/events/webhook-event';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { readRun } from '@runledger/event-log/read/read-run';
import type { DeliveryContext } from './delivery-context.ts';

type NotifierEvent = Exclude<WebhookEventType, 'WebhookRedeliveryRequested'>;

/** Appends the facts about a run's notifications in one round, each on the one before. */
export interface WebhookFacts {
  readonly round: number;
  /** Something is being sent. Does nothing when that is known. */
  started(notification: 'intermediate' | 'final'): Promise<void>;
  delivered(data: WebhookEventOf<'WebhookDelivered'>['data']): Promise<void>;
  givenUp(data: WebhookEventOf<'WebhookGivenUp'>['data']): Promise<void>;
}

/** Every method throws the signal's reason, and does nothing when the round is over meanwhile. */
export const webhookFacts = (
  { log, logger, instance, now }: DeliveryContext,
  run: Run,
  read: WebhookHistory,
  signal: AbortSignal,
): WebhookFacts => {
  const round = roundOf(read.state);
  let known = read;
  let last: Promise<void> = Promise.resolve();

  const append = async <Type extends NotifierEvent>(
    type: Type,
    data: WebhookEventOf<Type>['data'],
  ): Promise<void> => {
    const event = {
      type,
      version: 1,
      event_id: newUuid(),
      run_id: run.run_id,
      org_id: run.org_id,
      time: now().toISOString(),
      writer: { service: 'notifier', instance },
      round,
      correlation_id: run.correlation_id,
      causation_id: null,
      traceparent: run.traceparent,
      data,
      // Built from its own type's members, which a union of all three cannot tell.
    } as unknown as WebhookEventOf<NotifierEvent>;
    const decided = await decideAndAppend<WebhookHistory, WebhookHistory>(log, {
      read: async (atLeast) => (atLeast === undefined ? known : readAgain(atLeast)),
      decide: (history) =>
        isOver(history, type)
          ? { kind: 'answer', answer: history }
          : { kind: 'append', event, expected: history.head, answer: history },
      maxAttempts: Infinity,
      around: (work) => retryWhileUnavailable({ signal, logger }, work),
    });
    if (decided.kind === 'answered') known = decided.answer;
    if (decided.kind !== 'appended') return;
    const state =
      type === 'WebhookStarted'
        ? ({ status: 'running', round, updated_at: event.time } as const)
        : decided.answer.state;
    known = { head: decided.sequence, state };
  };
  const isOver = ({ state }: WebhookHistory, type: NotifierEvent): boolean =>
    roundOf(state) !== round || isSettled(state) || (type === 'WebhookStarted' && state !== undefined);

  const readAgain = async (atLeast: number): Promise<WebhookHistory> => {
    const { org_id, run_id } = run;
    const again = await readRun(log, { org_id, run_id }, { atLeast });
    if (again.kind !== 'found' || !again.webhook) {
      throw new Error(`the webhook facts of run ${run_id} cannot be read: ${again.kind}`);
    }
    return again.webhook;
  };
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work);
    return last;
  };
  return {
    round,
    started: (notification) => inTurn(() => append('WebhookStarted', { notification })),
    delivered: (data) => inTurn(() => append('WebhookDelivered', data)),
    givenUp: (data) => inTurn(() => append('WebhookGivenUp', data)),
  };
};
