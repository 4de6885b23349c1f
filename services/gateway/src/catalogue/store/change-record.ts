import { isDeepStrictEqual } from 'node:util';
import type { Bucket } from '@runledger/event-log/streams/bucket';
import type { DecidedRecord } from './core/decided-record.ts';

export type Decide<Stored, No> = (record: Stored) => Promise<DecidedRecord<Stored, No>>;

export type ChangedRecord<Stored, No> =
  | DecidedRecord<Stored, No>
  | { readonly kind: 'none' }
  /** Other writers changed the record again and again. */
  | { readonly kind: 'too_busy' };

const MAX_TRIES = 50;

/**
 * Changes a record by compare-and-set, so that no change is lost. A decision may depend on other records, which can change
 * meanwhile. So it is made again after the write, and a change that would be refused now is undone: of two changes that
 * exclude each other, at least one sees the other.
 * @throws {LogUnavailable}
 */
export const changeRecord = async <Stored, No>(
  bucket: Bucket<Stored>,
  key: string,
  decide: Decide<Stored, No>,
): Promise<ChangedRecord<Stored, No>> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const entry = await bucket.get(key);
    if (!entry) return { kind: 'none' };
    const decided = await decide(entry.value);
    if (decided.kind === 'refused' || isDeepStrictEqual(decided.record, entry.value)) return decided;
    const revision = await bucket.update(key, decided.record, entry.revision);
    if (revision === false) continue;
    const again = await decide(entry.value);
    if (again.kind === 'changed') return decided;
    await bucket.update(key, entry.value, revision);
    return again;
  }
  return { kind: 'too_busy' };
};
