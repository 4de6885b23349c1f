import type { OrgId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { SigningSecret } from './stored-secrets.ts';

/** A cache of secrets, so that a busy notifier does not read them for each webhook. */
export interface RecentSecrets {
  /** Concurrent callers share one read. A failure is not cached. */
  of(org: OrgId): Promise<SigningSecret>;
  forget(org: OrgId): void;
}

const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

export const recentSecrets = (
  read: (org: OrgId) => Promise<SigningSecret>,
  now: () => Date,
): RecentSecrets => {
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
