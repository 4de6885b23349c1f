import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { KeyedMutex } from '@runledger/resilience/keyed-mutex';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import type { Failed } from '../core/delivery/attempt-report.ts';
import type { Effect } from '../core/state/effect.ts';
import type { NotifierInput } from '../core/state/input.ts';
import type { TimersRoom } from '../timers/timers-room.ts';
import type { Sender } from '../sending/sender.ts';
import type { NotifierMetrics } from './notifier-metrics.ts';
import type { WebhookFacts } from './webhook-facts.ts';

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
  readonly take: (input: NotifierInput) => void;
  readonly hasFinal: (key: RunKey) => boolean;
  /** Milliseconds for which RUNS keeps a fact. */
  readonly logAgeMs: () => number;
  readonly room: TimersRoom;
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
    return { kind: 'failed', why: error instanceof Error ? error.message : String(error) };
  }
};
