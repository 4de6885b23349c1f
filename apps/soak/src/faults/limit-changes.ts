import type { RandomSource } from '@runledger/testing/random-source';
import type { Size } from '../size.ts';

/** The stores of the broker that may become full, by the names of their streams. */
export const STORES = [
  'RUNS',
  'TIMERS',
  'KV_CATALOGUE',
  'WORKFLOWS',
  'BLOBS',
  'OBJ_OUTPUTS',
  'OBJ_SNAPSHOTS',
] as const;
export type Store = (typeof STORES)[number];

/**
 * How an operator changes the limits of a store. `full`: it has no room for anything. `nearly_full`: RUNS has room for
 * what accepted runs may still write, and none for a new run. `forgetful`: RUNS keeps its messages for a short time only.
 */
export type LimitKind = 'full' | 'nearly_full' | 'forgetful';

/** A change that was made, and later undone. Times are milliseconds since the epoch. */
export interface LimitChange {
  readonly store: Store;
  readonly kind: LimitKind;
  /** Before the change. */
  readonly from: number;
  /** After the limits were as before; undefined if they never were. */
  readonly to: number | undefined;
  /** How many messages a `forgetful` RUNS lost. */
  readonly lost: number;
  /** Whether the store was full, had no room for a new run, or lost messages. */
  readonly hadEffect: boolean;
}

/** Services know a limit for a while, and a request may take some time. */
const KNOWN_FOR_MS = 10_000;

/** Whether one of these changes explains what was seen in this time. */
export const isLimited = (
  changes: readonly LimitChange[],
  kinds: readonly LimitKind[],
  { from, to }: { readonly from: number; readonly to: number },
  store?: Store,
): boolean =>
  changes.some(
    (change) =>
      kinds.includes(change.kind) &&
      (store === undefined || change.store === store) &&
      change.from <= to &&
      from <= (change.to ?? Infinity) + KNOWN_FOR_MS,
  );

/** A change of limits that is to happen. */
export interface PlannedChange extends Pick<LimitChange, 'store' | 'kind'> {
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Until the limits are as before. A log that forgets takes the time that it needs. */
  readonly forMs: number;
}

type Kind = Pick<PlannedChange, 'store' | 'kind'>;

const SHORTAGES: readonly Kind[] = [
  { store: 'RUNS', kind: 'nearly_full' },
  ...STORES.map((store): Kind => ({ store, kind: 'full' })),
];

/** Whether the log loses old messages in this soak. The archive has them, also when the database loses its data. */
export const isForgetful = (seed: number): boolean => seed % 2 === 1;

/**
 * The same random numbers give the same changes, one after the other. Every store becomes full before the first one does again.
 * A log that forgets does so once, behind the middle of the soak.
 */
export const limitSchedule = (
  random: RandomSource,
  { minutes, limitGapMs, limitedForMs }: Size,
  forgets: boolean,
): PlannedChange[] => {
  const endsAt = minutes * 60_000;
  const changes: PlannedChange[] = [];
  let left: Kind[] = [];
  let hasForgotten = !forgets;
  for (let at = random.integer(...limitGapMs); at < endsAt; at += random.integer(...limitGapMs)) {
    const forMs = random.integer(...limitedForMs);
    if (!hasForgotten && at >= endsAt / 2) {
      changes.push({ store: 'RUNS', kind: 'forgetful', at, forMs });
      hasForgotten = true;
    } else {
      if (left.length === 0) left = random.shuffled(SHORTAGES);
      const next = left.pop();
      if (next) changes.push({ ...next, at, forMs });
    }
    at += forMs;
  }
  return changes;
};
