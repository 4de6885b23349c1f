import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import type { SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import type { NotifierMetrics } from './notifier-metrics.ts';
import type { Sender } from '../sending/sender.ts';

/** What every delivery is made with. */
export interface DeliveryContext {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly sender: Sender;
  readonly secrets: SigningSecrets;
  readonly metrics: NotifierMetrics;
  /** Distinguishes two notifiers. */
  readonly instance: string;
  readonly now: () => Date;
  /** The address of the gateway as clients know it, without a slash at the end. */
  readonly publicUrl: string;
  /** The run API's own prefix, such as `/api`. */
  readonly basePath: string;
  /** Of a notification's body. */
  readonly maxBytes: number;
  /** From the end of the run. After that nothing is attempted any more, since its facts are about to leave the log. */
  readonly giveUpAfterMs: number;
}

/** Repeats work at the log while the log is away. @throws the signal's reason, and every other error */
export type AtLog = <Answer>(work: () => Promise<Answer>) => Promise<Answer>;

export const atLog =
  ({ logger }: Pick<DeliveryContext, 'logger'>, signal: AbortSignal): AtLog =>
  (work) =>
    retryWhileUnavailable({ signal, logger }, work);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
