import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { isDeleted, isEnded, isExecuting, type RunState } from '@runledger/contracts/fold/run';
import { timeOf } from './runs/time-text.ts';
import type { KnownRun } from './runs/known-run.ts';

/** How long runs held their slots: a log-normal distribution, fitted to the last ones. */
export interface DurationEstimate {
  /** Of the logarithm of seconds. */
  readonly mean: number;
  readonly deviation: number;
  /** How many runs it stands for. */
  readonly weight: number;
}

/** One of the statistics, as a snapshot has it. */
export interface DurationRecord {
  readonly name: string;
  readonly weight: number;
  readonly mean: number;
  /** The weighted sum of squared differences from the mean. */
  readonly squares: number;
}

const MAX_RECORDS = 10_000;
/** Each run counts for this part of the one after it, so about the last 100 count. */
const DECAY = 0.99;
const FEWEST_RUNS = 3;
const SHORTEST_S = 0.001;
/** A few runs may be alike by chance. */
const LEAST_DEVIATION = 0.05;

/** How long runs hold their slots, by names such as that of a workflow version. Those that were not used for long are forgotten. */
export class Durations {
  readonly #records = new LRUCache<string, DurationRecord>(atMost(MAX_RECORDS));

  add(names: readonly string[], seconds: number): void {
    const value = Math.log(Math.max(seconds, SHORTEST_S));
    for (const name of names) {
      const known = this.#records.get(name) ?? { name, weight: 0, mean: value, squares: 0 };
      const before = known.weight * DECAY;
      const weight = before + 1;
      const mean = known.mean + (value - known.mean) / weight;
      const squares = known.squares * DECAY + (value - known.mean) * (value - mean);
      this.#records.set(name, { name, weight, mean, squares });
    }
  }

  /** Of the first name that has had a few runs. */
  estimate(names: readonly string[]): DurationEstimate | undefined {
    for (const name of names) {
      const known = this.#records.get(name);
      if (!known || known.weight < FEWEST_RUNS * DECAY ** FEWEST_RUNS) continue;
      const { weight, mean, squares } = known;
      return { weight, mean, deviation: Math.max(Math.sqrt(squares / (weight - 1)), LEAST_DEVIATION) };
    }
    return undefined;
  }

  /** Those that were used last come last. */
  all(): DurationRecord[] {
    return [...this.#records.rvalues()].flatMap((record) => record ?? []);
  }

  restore(records: readonly DurationRecord[]): void {
    for (const record of records) this.#records.set(record.name, record);
  }
}

interface KnownDurations {
  readonly durations: Durations;
}

/** The statistics that a run belongs to, the most like it first. */
const namesOf = ({
  run: { request },
  requirements,
  slot,
}: Pick<KnownRun, 'run' | 'requirements' | 'slot'>): string[] => {
  const { gpu } = slot ?? requirements;
  return [`${gpu}/${request.workflow_version_id}`, `${gpu}/${request.deployment_id}`, gpu];
};

/** The run has ended: it held its slot from its assignment until now. */
export const addDuration = (
  { durations }: KnownDurations,
  before: KnownRun,
  after: RunState | undefined,
): void => {
  if (!isExecuting(before.run) || !after || isDeleted(after) || !isEnded(after)) return;
  const { assigned_at } = before.run.attempt;
  const heldMs = timeOf(after.ended_at) - timeOf(assigned_at);
  durations.add(namesOf(before), heldMs / 1_000);
};

export const durationOf = ({ durations }: KnownDurations, known: KnownRun): DurationEstimate | undefined =>
  durations.estimate(namesOf(known));

/** Of all runs of the GPU model, as they follow each other. */
export const durationOn = ({ durations }: KnownDurations, gpu: string): DurationEstimate | undefined =>
  durations.estimate([gpu]);
