import type { OrgId } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { recentSecrets } from './recent-secrets.ts';
import type { SecretBox } from './secret-box.ts';
import { newSigningSecret } from './signature.ts';
import { StoredSecrets, storedSecrets, type SigningSecret } from './stored-secrets.ts';

/** Every method may throw LogUnavailable, and UnreadableSecret if no key of the box decrypts the stored secret. */
export interface SigningSecrets {
  /** Makes the organisation's first secret if there is none. */
  current(org: OrgId): Promise<SigningSecret>;
  /**
   * Makes a new secret. The current one also signs for `overlap_s` seconds (24 hours by default), and the one before it does not.
   * @throws RangeError for an overlap that is not from 0 seconds to 7 days
   */
  rotate(org: OrgId, options?: { readonly overlap_s?: number | undefined }): Promise<SigningSecret>;
  /** The secrets that sign now, the current one first. A rotation by another process takes effect within five seconds. */
  valid(org: OrgId): Promise<string[]>;
}

export const DEFAULT_OVERLAP_S = 86_400;
export const MAX_OVERLAP_S = 7 * 86_400;

const MAX_TRIES = 20;

export const signingSecrets = (
  log: EventLog,
  box: SecretBox,
  { now, newSecret = newSigningSecret }: { readonly now: () => Date; readonly newSecret?: () => string },
): SigningSecrets => {
  const bucket = openBucket(log, 'WEBHOOK_SECRETS', StoredSecrets);

  const stored = storedSecrets(box, now);

  /** Stores the result of `change`. Repeats it if another process was faster. */
  const update = async (
    org: OrgId,
    change: (present: StoredSecrets | undefined) => Change,
  ): Promise<SigningSecret> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await bucket.get(org);
      const { value, isWritten } = change(entry?.value);
      if (isWritten) return value;
      const written = entry
        ? await bucket.update(org, stored.sealed(org, value), entry.revision)
        : await bucket.create(org, stored.sealed(org, value));
      if (written !== false) return value;
    }
    throw new LogUnavailable(`The signing secret of ${org} changes too often. Try again.`);
  };

  const current = (org: OrgId): Promise<SigningSecret> =>
    update(org, (present) =>
      present === undefined
        ? {
            value: { secret: newSecret(), created_at: now().toISOString(), previous: null },
            isWritten: false,
          }
        : { value: stored.opened(org, present), isWritten: true },
    );

  const recent = recentSecrets(current, now);

  return {
    current,
    rotate: async (org, { overlap_s = DEFAULT_OVERLAP_S } = {}) => {
      if (!(overlap_s >= 0 && overlap_s <= MAX_OVERLAP_S)) {
        throw new RangeError(`The overlap is 0 to ${MAX_OVERLAP_S} seconds (7 days), not ${overlap_s}.`);
      }
      const at = now();
      const expires_at = new Date(at.getTime() + overlap_s * 1_000).toISOString();
      // Without an overlap the old secret is not decrypted, so a rotation works even if its key is lost.
      const previous = (present: StoredSecrets | undefined): SigningSecret['previous'] =>
        present === undefined || overlap_s === 0
          ? null
          : { secret: box.open(present.sealed, org), expires_at };
      const secret = newSecret();
      const value = await update(org, (present) => ({
        value: { secret, created_at: at.toISOString(), previous: previous(present) },
        isWritten: false,
      }));
      recent.forget(org);
      return value;
    },
    valid: async (org) => {
      const { secret, previous } = await recent.of(org);
      return previous === null || stored.isExpired(previous) ? [secret] : [secret, previous.secret];
    },
  };
};

interface Change {
  readonly value: SigningSecret;
  /** It is already stored. */
  readonly isWritten: boolean;
}
