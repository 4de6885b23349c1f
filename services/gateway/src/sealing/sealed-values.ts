import type { SealedCounts, UnreadableValue } from '@runledger/contracts/http/sealed-values';
import type { SealedRecords } from '@runledger/webhooks/signing/sealed-records';

/** How far a walk through all kinds has come. */
export interface SealedPosition {
  /** The index of a kind. */
  readonly kind: number;
  readonly behind: number;
}

interface SealedPage {
  readonly counts: SealedCounts[];
  readonly unreadable: UnreadableValue[];
  /** Undefined at the end. */
  readonly next: SealedPosition | undefined;
}

/** Bounds the time of a request: each value is read, and written when it is sealed again. */
const PAGE_SIZE = 100;

/**
 * Goes through the next sealed values. A value that changes meanwhile comes again later, so nothing is missed; nothing is remembered, so
 * a walk can be repeated or continued at another gateway. @throws {LogUnavailable}
 */
export const nextSealedValues = async (
  kinds: readonly SealedRecords[],
  from: SealedPosition,
  action: 'inspect' | 'reseal',
): Promise<SealedPage> => {
  const counts = kinds.map(({ kind }) => ({ kind, current: 0, resealed: 0, old: 0, unreadable: 0 }));
  const unreadable: UnreadableValue[] = [];
  let at = from;
  for (let read = 0; read < PAGE_SIZE;) {
    const records = kinds[at.kind];
    const count = counts[at.kind];
    if (records === undefined || count === undefined) return { counts, unreadable, next: undefined };
    const found = await records.next(at.behind);
    if (found === undefined) {
      at = { kind: at.kind + 1, behind: 0 };
      continue;
    }
    const state = await records[action](found.key);
    at = { kind: at.kind, behind: found.revision };
    read += 1;
    if (state.kind === 'gone') continue;
    count[state.kind] += 1;
    if (state.kind === 'unreadable') unreadable.push({ kind: records.kind, id: found.key, why: state.why });
  }
  return { counts, unreadable, next: at };
};
