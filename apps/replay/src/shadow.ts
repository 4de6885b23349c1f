import { isDifference, type Difference } from './verdict.ts';
import { playSlice, type PlayOptions } from './play-slice.ts';

export interface Compared {
  /** Recorded decisions that were compared, and decisions that were not recorded. */
  readonly compared: number;
  readonly differences: number;
  /** Those that the slice does not say enough about, by the reason. */
  readonly notCompared: ReadonlyMap<string, number>;
  readonly facts: number;
  /** Decisions from this time on are compared. */
  readonly from: string;
  readonly assumptions: readonly string[];
}

/** Plays a slice as fast as it goes, and calls `onDifference` with each decision that differs. @throws {InvalidSlice} {UnusableSlice} */
export const shadowSlice = async (
  options: PlayOptions,
  onDifference: (difference: Difference) => void,
): Promise<Compared> => {
  const counts = { facts: 0, compared: 0, differences: 0 };
  const notCompared = new Map<string, number>();
  let from = '';
  let assumptions: readonly string[] = [];
  for await (const step of playSlice(options)) {
    if (step.fact) counts.facts += 1;
    from = step.header.from;
    assumptions = step.assumptions();
    for (const verdict of step.verdicts) {
      if (verdict.kind === 'not_compared') {
        notCompared.set(verdict.why, (notCompared.get(verdict.why) ?? 0) + 1);
        continue;
      }
      counts.compared += 1;
      if (!isDifference(verdict)) continue;
      counts.differences += 1;
      onDifference(verdict);
    }
  }
  return { ...counts, from, notCompared, assumptions };
};
