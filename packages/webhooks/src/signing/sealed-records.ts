import { isOrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { InvalidRecord, openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import { UnreadableSecret, type SecretBox } from './secret-box.ts';
import { StoredSecrets, storedSecrets } from './stored-secrets.ts';

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
  readonly kind: 'webhook_secrets';
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
