import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';

export type RemovedRecord<No> =
  | { readonly kind: 'removed' }
  | { readonly kind: 'refused'; readonly why: No }
  | { readonly kind: 'none' }
  /** Other writers changed the record again and again. */
  | { readonly kind: 'too_busy' };

/** Why a record cannot be removed, by its present state and the time of its last change; undefined when it can. */
export type RefuseRemoval<Stored, No> = (
  entry: Pick<Entry<Stored>, 'value' | 'changedAt'>,
) => Promise<No | undefined>;

const MAX_TRIES = 50;

/** Removes a record as it was when it was decided: after another change it is decided again. @throws {LogUnavailable} */
export const removeRecord = async <Stored, No>(
  bucket: Bucket<Stored>,
  key: string,
  refuse: RefuseRemoval<Stored, No>,
): Promise<RemovedRecord<No>> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const entry = await bucket.get(key);
    if (!entry) return { kind: 'none' };
    const why = await refuse(entry);
    if (why !== undefined) return { kind: 'refused', why };
    if (await bucket.eraseAt(key, entry.revision)) return { kind: 'removed' };
  }
  return { kind: 'too_busy' };
};
