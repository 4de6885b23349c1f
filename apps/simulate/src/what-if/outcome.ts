import type { Changes, FairShareSettings } from './changes.ts';

/** What a captured day was: as much as a person needs to say what is tried. */
export interface DaySummary {
  /** What the slice has and what it leaves out, as sentences. */
  readonly notes: readonly string[];
  /** Ids with the number of runs, those with the most first. */
  readonly organisations: readonly (readonly [id: string, runs: number])[];
  /** GPU models with their slots, on average. */
  readonly gpus: readonly (readonly [model: string, slots: number])[];
}

export interface Tried {
  /** What the schedulers of that day had. */
  readonly before: FairShareSettings;
  /** Undefined to compare the simulator with the day only. */
  readonly changes: Changes | undefined;
}

/** In milliseconds. */
export interface Waits {
  readonly runs: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export interface OutcomeOfDay {
  /** Which day it is: that day, simulated, or with the changes. */
  readonly title: string;
  readonly all: Waits;
  readonly byOrganisation: ReadonlyMap<string, Waits>;
  /** By GPU model: how many slots there were on average, and the part of them that was held, null without slots. */
  readonly slots: ReadonlyMap<string, number>;
  readonly utilisation: ReadonlyMap<string, number | null>;
  /** Jain's index on average; null when nobody wanted a slot. */
  readonly fairness: number | null;
}

export interface DrawnChart {
  /** The name of its file. */
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

/** That day, the simulated one, and the one with the changes if there are any. */
export interface Outcome {
  /** How close the simulator comes to the day, as sentences. */
  readonly model: readonly string[];
  readonly days: readonly OutcomeOfDay[];
  readonly charts: readonly DrawnChart[];
}
