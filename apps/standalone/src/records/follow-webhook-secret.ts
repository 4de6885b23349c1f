import type { EventLog } from '@runledger/event-log/connect/event-log';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { pullInOrder } from '@runledger/event-log/follow/pull-in-order';
import { webhookSecretOf } from './webhook-secret.ts';

export interface FollowedSecret {
  readonly org_id: string;
  readonly secretKeys: readonly string[];
  readonly now: () => Date;
  /** Called with the present secret, and again whenever another process has stored another one. */
  readonly onSecret: (secret: string) => Promise<void>;
  /** Called once if it cannot be followed any more. */
  readonly onFailed: (error: Error) => void;
}

/** Follows the signing secret of an organisation until dispose, over restarts of the broker. */
export const followWebhookSecret = async (
  log: EventLog,
  { org_id, secretKeys, now, onSecret, onFailed }: FollowedSecret,
): Promise<AsyncDisposable> => {
  const stop = new AbortController();
  const pulling = await pullInOrder(log, {
    stream: 'KV_WEBHOOK_SECRETS',
    subjects: [`$KV.WEBHOOK_SECRETS.${org_id}`],
    headersOnly: true,
    begin: () => ({ deliver_policy: 'last_per_subject' }),
    take: async () => {
      const secret = await retryWhileUnavailable({ signal: stop.signal, logger: log.logger }, () =>
        webhookSecretOf(log, org_id, secretKeys, now),
      );
      await onSecret(secret);
    },
  });
  void pulling.failed.then((error) => {
    if (!stop.signal.aborted) onFailed(error);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await pulling[Symbol.asyncDispose]();
    },
  };
};
