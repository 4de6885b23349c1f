import type { PlayedRun } from './played-run.ts';
import { demandOverTime, slotsOverTime, type Steps } from './over-time.ts';

/** Less is no demand: the run of a moment. */
const LEAST_DEMAND = 0.01;

interface Share {
  readonly used: number;
  readonly demand: number;
  readonly weight: number;
}

/**
 * Of each step Jain's index of what organisations got, each as a part of what was fair (Jain, Chiu and Hawe, 1984): 1 when all who
 * wanted slots of a GPU model got the same part, 1/n when one of n got all. Fair is max-min: by weight, and nobody's share is more
 * than it wants. Null when nobody wanted a slot.
 */
export const fairnessOverTime = (
  runs: readonly PlayedRun[],
  steps: Steps,
  weightOf: (organisation: string) => number,
): (number | null)[] => {
  const gpus = [...new Set(runs.map(({ gpu }) => gpu))];
  const models = gpus.map((gpu) => {
    const ofModel = runs.filter((run) => run.gpu === gpu);
    const nameOf = ({ organisation }: PlayedRun): string => organisation;
    return {
      used: slotsOverTime(ofModel, steps, nameOf),
      demand: demandOverTime(ofModel, steps, nameOf),
    };
  });
  return Array.from({ length: steps.count }, (_, step) => {
    const parts = models.flatMap(({ used, demand }) =>
      partsOfFair(
        [...demand].map(([name, values]) => ({
          used: used.get(name)?.[step] ?? 0,
          demand: values[step] ?? 0,
          weight: weightOf(name),
        })),
      ),
    );
    return jainIndex(parts);
  });
};

/** Null for no parts. */
export const jainIndex = (parts: readonly number[]): number | null => {
  const sum = parts.reduce((total, part) => total + part, 0);
  const squares = parts.reduce((total, part) => total + part ** 2, 0);
  return squares === 0 ? null : sum ** 2 / (parts.length * squares);
};

const partsOfFair = (shares: readonly Share[]): number[] => {
  const wanting = shares.filter(({ demand }) => demand >= LEAST_DEMAND);
  const fair = maxMin(
    wanting,
    wanting.reduce((sum, { used }) => sum + used, 0),
  );
  return wanting.map(({ used }, n) => used / Math.max(fair[n] ?? 0, LEAST_DEMAND));
};

/** Divides slots by weight; what somebody does not want goes to the others. */
export const maxMin = (shares: readonly Pick<Share, 'demand' | 'weight'>[], slots: number): number[] => {
  const fair = shares.map(() => 0);
  // Those who want least for their weight are served first; the others divide what is left.
  const order = shares
    .map(({ demand, weight }, n) => ({ n, demand, weight }))
    .toSorted((a, b) => a.demand / a.weight - b.demand / b.weight);
  let left = slots;
  let weights = order.reduce((sum, { weight }) => sum + weight, 0);
  for (const { n, demand, weight } of order) {
    const part = Math.min(demand, (left * weight) / weights);
    fair[n] = part;
    left -= part;
    weights -= weight;
  }
  return fair;
};
