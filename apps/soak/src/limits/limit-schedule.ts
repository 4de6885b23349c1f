import type { RandomSource } from '@runledger/testing/random/random-source';
import type { Size } from '../parameters/size.ts';
import { STORES, type LimitChange } from './limit-changes.ts';

/** A change of limits that is to happen. */
export interface PlannedChange extends Pick<LimitChange, 'store' | 'kind'> {
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Until the limits are as before. A log that forgets takes the time that it needs. */
  readonly forMs: number;
}

type Limits = Pick<Size, 'minutes' | 'limitGapMs' | 'limitedForMs'>;
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
  { minutes, limitGapMs, limitedForMs }: Limits,
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
      if (left.length === 0) left = shuffled(random, SHORTAGES);
      const next = left.pop();
      if (next) changes.push({ ...next, at, forMs });
    }
    at += forMs;
  }
  return changes;
};

const shuffled = (random: RandomSource, kinds: readonly Kind[]): Kind[] => {
  const left = [...kinds];
  return kinds.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
};
