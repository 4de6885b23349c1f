import { setTimeout as pause } from 'node:timers/promises';
import type { RandomSource } from '@runledger/testing/random-source';
import type { FaultKind, StoreFault } from '../cluster/outages.ts';
import type { Size } from '../size.ts';
import type { Part } from '../cluster/part.ts';

/** What happens to some parts of the cluster at one moment. */
export interface Fault {
  /** Milliseconds from the beginning. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly parts: readonly string[];
  /** Until they start again or continue. */
  readonly forMs: number;
}

/** How many faults in a hundred are followed by a calm time. */
const CALM_IN_100 = 8;
/** Without a rest after a fault, a part would never do any work. */
const REST_MS = 1_000;

/** The part whose store is emptied and restored. */
const DATABASE = 'database';
/** How many faults in a hundred take its data. */
const STORE_IN_100 = 12;

/** The same random numbers give the same faults. A part that is down gets no further fault. */
export const faultSchedule = (random: RandomSource, parts: readonly string[], limits: Size): Fault[] => {
  const endsAt = limits.minutes * 60_000;
  const freeAt = new Map<string, number>();
  const faults: Fault[] = [];
  for (
    let at = random.integer(...limits.faultGapMs);
    at < endsAt;
    at += random.integer(...limits.faultGapMs)
  ) {
    const free = parts.filter((part) => (freeAt.get(part) ?? 0) <= at);
    const { kind, hit } = hitBy(random, free, parts.length);
    const forMs = random.integer(...(kind === 'pause' ? limits.pauseMs : limits.downMs));
    if (hit.length > 0) faults.push({ at, kind, parts: hit, forMs });
    for (const part of hit) freeAt.set(part, at + forMs + REST_MS);
    if (random.chance(CALM_IN_100)) at += forMs + limits.calmMs;
  }
  return faults;
};

const hitBy = (
  random: RandomSource,
  free: readonly string[],
  all: number,
): { readonly kind: FaultKind; readonly hit: readonly string[] } => {
  if (random.chance(STORE_IN_100) && free.includes(DATABASE)) {
    return { kind: random.pick<StoreFault>(['empty', 'restore']), hit: [DATABASE] };
  }
  const hit = random.sample(free, partCount(random, all));
  return { kind: random.pick<FaultKind>(['kill', 'kill', 'stop', 'pause', 'pause']), hit };
};

/** Mostly one, sometimes a few, and now and then all at once. */
const partCount = (random: RandomSource, all: number): number => {
  if (random.chance(60)) return 1;
  return random.chance(88) ? random.integer(2, Math.max(2, Math.floor(all / 2))) : all;
};

/** Injects the faults of the schedule, starting now. Resolves when every affected part works again. */
export const injectFaults = async (faults: readonly Fault[], parts: readonly Part[]): Promise<void> => {
  const begunAt = performance.now();
  const recoveries: Promise<boolean>[] = [];
  for (const { at, kind, parts: names, forMs } of faults) {
    await pause(Math.max(0, begunAt + at - performance.now()));
    for (const part of parts.filter(({ name }) => names.includes(name))) {
      const recovery = part.inject(kind, forMs);
      // The Promise.all below reports a failure.
      recovery.catch(() => undefined);
      recoveries.push(recovery);
    }
  }
  await Promise.all(recoveries);
};
