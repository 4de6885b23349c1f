import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import type { NotifierMetrics } from '../notifier-metrics.ts';
import type { Sender } from '../sending/sender.ts';

/** What every delivery is made with. */
export interface DeliveryContext {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly sender: Sender;
  readonly secrets: SigningSecrets;
  readonly metrics: NotifierMetrics;
  /** Tells two notifiers apart. */
  readonly instance: string;
  readonly now: () => Date;
  /** 0 to 1. */
  readonly random: () => number;
  /** The address of the gateway as clients know it, without a slash at the end. */
  readonly publicUrl: string;
  /** The run API's own prefix, such as `/api`. */
  readonly basePath: string;
  /** Of a notification's body. */
  readonly maxBytes: number;
  /** From the end of the run: after that nothing is tried any more, since its facts are about to leave the log. */
  readonly giveUpAfterMs: number;
}
