import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { KeyedMutex } from '@runledger/resilience/keyed-mutex';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import type { OutputUrl } from '@runledger/contracts/http/runs/run-response';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { SigningSecrets } from '@runledger/webhooks/signing-secrets';
import { newUuid } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import type { WebhookEventOf, WebhookEventType } from '@runledger/contracts/events/webhook-event';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import { readWebhookEnd, type WebhookEnd } from '@runledger/event-log/read/read-run';
import { messageOf } from '@runledger/resilience/errors';
import type { Failed } from '../core/delivery.ts';
import type { Effect, NotifierInput } from '../core/inputs-and-effects.ts';
import type { TimersCapacity } from '../timers-capacity.ts';
import type { Sender } from '../sender.ts';
import type { NotifierMetrics } from '../notifier-metrics.ts';

/** What every delivery is made with. */
export interface DeliveryOptions {
  readonly log: EventLog;
  readonly sender: Sender;
  readonly secrets: SigningSecrets;
  /** Distinguishes two notifiers. */
  readonly instance: string;
  /** The broker's clock, by which timers are due and receivers check signatures: that of this machine may be wrong. */
  readonly now: () => Date;
  /** The address of the gateway as clients know it, without a slash at the end. */
  readonly publicUrl: string;
  readonly outputUrl: OutputUrl;
  /** The run API's own prefix, such as `/api`. */
  readonly basePath: string;
  /** Of a notification's body. */
  readonly maxBytes: number;
  /** From the end of the run. After that nothing is attempted any more, since its facts are about to leave the log. */
  readonly giveUpAfterMs: number;
}

/** What effects are carried out with. */
export interface EffectContext extends DeliveryOptions {
  readonly metrics: NotifierMetrics;
  /** The outputs of runs that have long lists of them. */
  readonly lists: OutputLists;
  readonly handle: (input: NotifierInput) => void;
  readonly hasFinal: (key: RunKey) => boolean;
  /** Milliseconds for which RUNS keeps a fact. */
  readonly logAgeMs: () => number;
  readonly capacity: TimersCapacity;
  /** Aborted when nothing more may be sent or written for the partition. */
  readonly signalOf: (partition: number) => AbortSignal;
  /** Nothing is under way any more in a partition that is closing. */
  readonly onIdle: (partition: number) => void;
  /** Of the attempts whose outcome is to be written down. */
  readonly facts: Map<number, WebhookFacts>;
  /** What is stored for one receiver is stored in order. */
  readonly inTurn: KeyedMutex;
}

export type EffectOf<Type> = Extract<Effect, { type: Type }>;

/** Repeats work at the log while the log is unavailable. @throws the signal's reason, and every other error */
export const atLog =
  ({ log }: { readonly log: Pick<EventLog, 'logger'> }, signal: AbortSignal) =>
  <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
    retryWhileUnavailable({ signal, logger: log.logger }, work);

interface GuardedWork {
  readonly signal: AbortSignal;
  readonly key: RunKey;
  /** What is logged when it fails. */
  readonly failure: string;
  /** Counts a failure as one of an attempt. */
  readonly notification?: 'intermediate' | 'final';
}

/** The result of the work, or how it failed. Never rejects. */
export const guarded = async <Result>(
  { log, metrics }: EffectContext,
  { signal, key, failure, notification }: GuardedWork,
  work: () => Promise<Result>,
): Promise<Result | Failed> => {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) return { kind: 'interrupted' };
    log.logger.error({ err: error, run_id: key.run_id }, failure);
    if (notification) metrics.attempted(notification, 'internal_error');
    return { kind: 'failed', why: messageOf(error) };
  }
};

type NotifierEvent = Exclude<WebhookEventType, 'WebhookRedeliveryRequested'>;

type AboutRun = Pick<Run, 'org_id' | 'run_id' | 'correlation_id' | 'traceparent'>;

interface FactsContext {
  readonly log: EventLog;
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
