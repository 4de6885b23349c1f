import type { OrgId } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { Type, type Static } from 'typebox';
import { recentSecrets } from './recent-secrets.ts';
import type { SecretBox } from './secret-box.ts';
import { newSigningSecret } from './signature.ts';

/** The secrets with which an organisation's webhooks are signed. */
export interface SigningSecret {
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly created_at: string;
  /** The one before, which also signs until `expires_at`. */
  readonly previous: { readonly secret: string; readonly expires_at: string } | null;
}

/** Every method may throw LogUnavailable, and UnreadableSecret when no key of the box fits what is stored. */
export interface SigningSecrets {
  /** Makes the organisation's first secret when there is none. */
  current(org: OrgId): Promise<SigningSecret>;
  /**
   * A new secret. The current one also signs for `overlap_s` seconds (24 hours when left out), and the one before it no longer.
   * @throws RangeError for an overlap that is not from 0 seconds to 7 days
   */
  rotate(org: OrgId, wish?: { readonly overlap_s?: number | undefined }): Promise<SigningSecret>;
  /** The secrets that sign now, the current one first. A rotation by another process takes effect within five seconds. */
  valid(org: OrgId): Promise<string[]>;
}

export const DEFAULT_OVERLAP_S = 86_400;
export const MAX_OVERLAP_S = 7 * 86_400;

/** `sealed` by a SecretBox, with the organisation's id as context. */
const StoredSecrets = Type.Object({
  sealed: Type.String(),
  created_at: Type.String(),
  previous: Type.Union([Type.Object({ sealed: Type.String(), expires_at: Type.String() }), Type.Null()]),
});
type StoredSecrets = Static<typeof StoredSecrets>;

const MAX_TRIES = 20;

export const signingSecrets = (
  log: EventLog,
  box: SecretBox,
  { now, newSecret = newSigningSecret }: { readonly now: () => Date; readonly newSecret?: () => string },
): SigningSecrets => {
  const bucket = openBucket(log, 'WEBHOOK_SECRETS', StoredSecrets);

  const isOver = ({ expires_at }: { readonly expires_at: string }): boolean =>
    Date.parse(expires_at) <= now().getTime();
  const opened = (org: OrgId, { sealed, created_at, previous }: StoredSecrets): SigningSecret => ({
    secret: box.open(sealed, org),
    created_at,
    previous:
      previous === null || isOver(previous)
        ? null
        : { secret: box.open(previous.sealed, org), expires_at: previous.expires_at },
  });
  const sealed = (org: OrgId, { secret, created_at, previous }: SigningSecret): StoredSecrets => ({
    sealed: box.seal(secret, org),
    created_at,
    previous: previous && { sealed: box.seal(previous.secret, org), expires_at: previous.expires_at },
  });
  const isFresh = (stored: StoredSecrets): boolean =>
    box.isFresh(stored.sealed) && (stored.previous === null || box.isFresh(stored.previous.sealed));

  /** Writes what `change` makes of what is stored, again when another process was faster. */
  const settle = async (
    org: OrgId,
    change: (stored: StoredSecrets | undefined) => Change,
  ): Promise<SigningSecret> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await bucket.get(org);
      const { value, isWritten } = change(entry?.value);
      if (isWritten) return value;
      const written = entry
        ? await bucket.update(org, sealed(org, value), entry.revision)
        : await bucket.create(org, sealed(org, value));
      if (written !== false) return value;
    }
    throw new LogUnavailable(`The signing secret of ${org} changes too fast. Try again.`);
  };

  const current = (org: OrgId): Promise<SigningSecret> =>
    settle(org, (stored) =>
      stored === undefined
        ? {
            value: { secret: newSecret(), created_at: now().toISOString(), previous: null },
            isWritten: false,
          }
        : { value: opened(org, stored), isWritten: isFresh(stored) },
    );

  const recent = recentSecrets(current, now);

  return {
    current,
    rotate: async (org, { overlap_s = DEFAULT_OVERLAP_S } = {}) => {
      if (!(overlap_s >= 0 && overlap_s <= MAX_OVERLAP_S)) {
        throw new RangeError(
          `An old secret may sign for 0 to ${MAX_OVERLAP_S} seconds (7 days) longer, not for ${overlap_s}.`,
        );
      }
      const at = now();
      const expires_at = new Date(at.getTime() + overlap_s * 1_000).toISOString();
      // Without an overlap the old one is not opened, so a rotation works even when its key is lost.
      const previous = (stored: StoredSecrets | undefined): SigningSecret['previous'] =>
        stored === undefined || overlap_s === 0 ? null : { secret: box.open(stored.sealed, org), expires_at };
      const secret = newSecret();
      const value = await settle(org, (stored) => ({
        value: { secret, created_at: at.toISOString(), previous: previous(stored) },
        isWritten: false,
      }));
      recent.forget(org);
      return value;
    },
    valid: async (org) => {
      const { secret, previous } = await recent.of(org);
      return previous === null || isOver(previous) ? [secret] : [secret, previous.secret];
    },
  };
};

interface Change {
  readonly value: SigningSecret;
  /** It is stored already, sealed with the first key: nothing has to be written. */
  readonly isWritten: boolean;
}
