import { newUuid } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import type { WebhookEventOf, WebhookEventType } from '@runledger/contracts/events/webhook-event';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import type { RunLog } from '@runledger/event-log/messages/run-messages';
import { readWebhookEnd, type WebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';

type NotifierEvent = Exclude<WebhookEventType, 'WebhookRedeliveryRequested'>;

type AboutRun = Pick<Run, 'org_id' | 'run_id' | 'correlation_id' | 'traceparent'>;

interface FactsContext {
  readonly log: RunLog;
  readonly now: () => Date;
  readonly instance: string;
}

/** Appends the facts about a run's notifications in one round, each on the one before. */
export interface WebhookFacts {
  /** Does nothing when the round is over, or when it is known that sending has begun. @throws the signal's reason */
  append<Type extends NotifierEvent>(type: Type, data: WebhookEventOf<Type>['data']): Promise<void>;
}

/** `read`: the end of the chain when the run was read. */
export const webhookFacts = (
  context: FactsContext,
  run: AboutRun,
  read: WebhookEnd,
  signal: AbortSignal,
): WebhookFacts => {
  const { log } = context;
  const { round } = read;
  let known = read;
  let last: Promise<void> = Promise.resolve();

  const append = async <Type extends NotifierEvent>(
    type: Type,
    data: WebhookEventOf<Type>['data'],
  ): Promise<void> => {
    const event = eventOf(context, run, { type, round, data });
    const appended = await decideAndAppend(log, {
      read: async (atLeast) => (atLeast === undefined ? known : readWebhookEnd(log, run)),
      decide: (end) =>
        isOver(end, type, round)
          ? { kind: 'answer', answer: end }
          : { kind: 'append', event, expected: end.head, answer: end },
      maxAttempts: Infinity,
      around: (work) => retryWhileUnavailable({ signal, logger: log.logger }, work),
    });
    if (appended.kind === 'too_busy') return;
    const status = type === 'WebhookStarted' ? 'running' : 'settled';
    known = appended.kind === 'answered' ? appended.answer : { head: appended.sequence, round, status };
  };
  return {
    append: (type, data) => {
      last = last.then(() => append(type, data));
      return last;
    },
  };
};

const isOver = (end: WebhookEnd, type: NotifierEvent, round: number): boolean =>
  end.round !== round || end.status === 'settled' || (type === 'WebhookStarted' && end.status === 'running');

const eventOf = <Type extends NotifierEvent>(
  { now, instance }: FactsContext,
  run: AboutRun,
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
