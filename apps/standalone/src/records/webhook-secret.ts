import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { secretBox, UnreadableSecret } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { StartRefused } from '../settings/start-refused.ts';

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
