import type { EventLog } from '@runledger/event-log/connect/event-log';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { pullInOrder } from '@runledger/event-log/follow/pull-in-order';
import { orgId } from '@runledger/contracts/ids';
import { secretBox, UnreadableSecret } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { StartRefused } from '../settings.ts';

interface FollowedSecret {
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

/** The signing secret of the organisation; a new one if it has none. */
export const webhookSecretOf = async (
  log: EventLog,
  org_id: string,
  secretKeys: readonly string[],
  now: () => Date,
): Promise<string> => {
  try {
    return (await signingSecrets(log, secretBox(secretKeys), { now }).current(orgId(org_id))).secret;
  } catch (error) {
    if (!(error instanceof UnreadableSecret)) throw error;
    throw new StartRefused(
      `A signing secret in the data folder cannot be decrypted. ${error.message} ` +
        'The keys come from RUNLEDGER_SECRET_KEYS, if it is set, and from secret-keys.json in the data folder. Restore that file from a copy.',
    );
  }
};
