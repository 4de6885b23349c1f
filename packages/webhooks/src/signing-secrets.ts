import { type OrgId, isOrgId } from '@runledger/contracts/ids';
import { changeEntry, openBucket, InvalidRecord, type Entry } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { Type, type Static } from 'typebox';
import { type SecretBox, UnreadableSecret } from './secret-box.ts';
import { newSigningSecret } from './signature.ts';

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

export const signingSecrets = (
  log: EventLog,
  box: SecretBox,
  { now, newSecret = newSigningSecret }: { readonly now: () => Date; readonly newSecret?: () => string },
): SigningSecrets => {
  const bucket = openBucket(log, 'WEBHOOK_SECRETS', StoredSecrets);

  const stored = storedSecrets(box, now);

  const change = async (
    org: OrgId,
    decide: (present: StoredSecrets | undefined) => Decided,
  ): Promise<SigningSecret> => {
    const busy = `The signing secret of ${org} changes too often. Try again.`;
    return (await changeEntry(bucket, org, decide, busy)).secret;
  };
  const replacing = (org: OrgId, secret: SigningSecret): Decided => ({
    secret,
    value: stored.sealed(org, secret),
  });

  const current = (org: OrgId): Promise<SigningSecret> =>
    change(org, (present) =>
      present === undefined
        ? replacing(org, { secret: newSecret(), created_at: now().toISOString(), previous: null })
        : { secret: stored.opened(org, present) },
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
      const rotated = await change(org, (present) =>
        replacing(org, { secret, created_at: at.toISOString(), previous: previous(present) }),
      );
      recent.forget(org);
      return rotated;
    },
    valid: async (org) => {
      const { secret, previous } = await recent.of(org);
      return previous === null || stored.isExpired(previous) ? [secret] : [secret, previous.secret];
    },
  };
};

interface Decided {
  readonly secret: SigningSecret;
  /** What is stored of it; left out where that is there. */
  readonly value?: StoredSecrets;
}

/** A cache of secrets, so that a busy notifier does not read them for each webhook. */
interface RecentSecrets {
  /** Concurrent callers share one read. A failure is not cached. */
  of(org: OrgId): Promise<SigningSecret>;
  forget(org: OrgId): void;
}

const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

const recentSecrets = (read: (org: OrgId) => Promise<SigningSecret>, now: () => Date): RecentSecrets => {
  // The age is checked here, because this clock may be set back. Then the secret is read again.
  const kept = new LRUCache<OrgId, { readonly readAt: number; readonly secret: Promise<SigningSecret> }>({
    ...atMost(MAX_KEPT),
  });
  const readNow = (org: OrgId): Promise<SigningSecret> => {
    const entry = { readAt: now().getTime(), secret: read(org) };
    entry.secret.catch(() => {
      if (kept.peek(org) === entry) kept.delete(org);
    });
    kept.set(org, entry);
    return entry.secret;
  };
  return {
    of: (org) => {
      const entry = kept.get(org);
      const age = entry === undefined ? Number.POSITIVE_INFINITY : now().getTime() - entry.readAt;
      return entry !== undefined && age >= 0 && age < KEPT_MS ? entry.secret : readNow(org);
    },
    forget: (org) => void kept.delete(org),
  };
};

/** The signing secrets of an organisation's webhooks. */
interface SigningSecret {
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly created_at: string;
  /** The earlier one, which also signs until `expires_at`. */
  readonly previous: { readonly secret: string; readonly expires_at: string } | null;
}

/** `sealed` by a SecretBox, with the organisation's id as context. */
const StoredSecrets = Type.Object({
  sealed: Type.String(),
  created_at: Type.String(),
  previous: Type.Union([Type.Object({ sealed: Type.String(), expires_at: Type.String() }), Type.Null()]),
});
type StoredSecrets = Static<typeof StoredSecrets>;

/** Converts secrets to their stored form and back. Only the box has the keys. */
interface StoredSecretsForm {
  opened(org: OrgId, stored: StoredSecrets): SigningSecret;
  sealed(org: OrgId, secret: SigningSecret): StoredSecrets;
  /** Everything is sealed with the box's first key. */
  isFresh(stored: StoredSecrets): boolean;
  isExpired(previous: { readonly expires_at: string }): boolean;
}

const storedSecrets = (box: SecretBox, now: () => Date): StoredSecretsForm => {
  const isExpired = ({ expires_at }: { readonly expires_at: string }): boolean =>
    Date.parse(expires_at) <= now().getTime();
  const opened = (org: OrgId, { sealed, created_at, previous }: StoredSecrets): SigningSecret => ({
    secret: box.open(sealed, org),
    created_at,
    previous:
      previous === null || isExpired(previous)
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

  return { opened, sealed, isFresh, isExpired };
};

export type SealedState =
  | { readonly kind: 'gone' }
  /** The first key of the box sealed it, and opens it. */
  | { readonly kind: 'current' }
  /** An older key sealed it. */
  | { readonly kind: 'old' }
  /** Was `old` until now. */
  | { readonly kind: 'resealed' }
  /** `why` holds no secret. */
  | { readonly kind: 'unreadable'; readonly why: string };

/** Sealed records of one kind, in the order of their last changes: one that changes comes again. */
export interface SealedRecords {
  readonly kind: 'webhook_secrets' | 'organisation_secrets';
  /** The first one behind a revision. */
  next(behind: number): Promise<{ readonly key: string; readonly revision: number } | undefined>;
  /** Opens it, to see that the keys of the box do. */
  inspect(key: string): Promise<SealedState>;
  /** Seals it with the first key, unless that did already. What another process changes meanwhile is left as it is. */
  reseal(key: string): Promise<SealedState>;
}

/** The signing secrets of all organisations. @throws {LogUnavailable} */
export const sealedSigningSecrets = (log: EventLog, box: SecretBox, now: () => Date): SealedRecords => {
  const bucket = openBucket(log, 'WEBHOOK_SECRETS', StoredSecrets);
  const stored = storedSecrets(box, now);

  /** `onOld` gets what the box has opened. */
  const examine = async (
    key: string,
    onOld: (entry: Entry<StoredSecrets>, resealed: () => StoredSecrets) => Promise<SealedState>,
  ): Promise<SealedState> => {
    try {
      const entry = await bucket.get(key);
      if (entry === undefined) return { kind: 'gone' };
      if (!isOrgId(key)) return { kind: 'unreadable', why: `The key ${key} is not an organisation id.` };
      const secret = stored.opened(key, entry.value);
      if (stored.isFresh(entry.value)) return { kind: 'current' };
      return await onOld(entry, () => stored.sealed(key, secret));
    } catch (error) {
      if (error instanceof UnreadableSecret || error instanceof InvalidRecord)
        return { kind: 'unreadable', why: error.message };
      throw error;
    }
  };
  const inspect = (key: string): Promise<SealedState> => examine(key, () => Promise.resolve({ kind: 'old' }));
  return {
    kind: 'webhook_secrets',
    next: (behind) => bucket.nextWrite('', behind),
    inspect,
    reseal: (key) =>
      examine(key, async ({ revision }, resealed) => {
        const written = await bucket.update(key, resealed(), revision);
        return written === false ? inspect(key) : { kind: 'resealed' };
      }),
  };
};
