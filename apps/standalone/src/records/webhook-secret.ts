import { orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { secretBox, UnreadableSecret } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { StartRefused } from '../settings/start-refused.ts';

/** What the organisation verifies its webhooks with; made when there is none. */
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
      `The data folder holds a signing secret that cannot be read. ${error.message} ` +
        'The keys are those of RUNLEDGER_SECRET_KEYS, if it is set, and of secret-keys.json in the data folder, which can be restored from a copy.',
    );
  }
};
