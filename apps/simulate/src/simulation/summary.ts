import type { Plan } from '../plan/plan.ts';
import type { Simulated } from './simulate.ts';
import { duration, percent, table } from '../text.ts';
import type { RunResult } from './results.ts';

const MAX_ORGANISATIONS = 20;

interface OrganisationResults {
  readonly waitsMs: number[];
  heldMs: number;
}

/** Gathers the results of all runs, for a summary. */
export class Summary {
  readonly #plan: Plan;
  readonly #organisations = new Map<number, OrganisationResults>();
  #lastEndMs = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  readonly add = ({ organisation, queuedMs, assignedMs, endedMs }: RunResult): void => {
    // Behind the last one are those that show at the end that slots are free.
    if (organisation >= this.#plan.organisations.length) return;
    const results = this.#organisations.get(organisation) ?? { waitsMs: [], heldMs: 0 };
    this.#organisations.set(organisation, results);
    results.waitsMs.push((assignedMs ?? endedMs) - queuedMs);
    if (assignedMs !== null) results.heldMs += endedMs - assignedMs;
    this.#lastEndMs = Math.max(this.#lastEndMs, endedMs);
  };

  /** For people. */
  lines({ counts, virtualMs, steps }: Simulated, wallMs: number): string[] {
    const { plan } = { plan: this.#plan };
    const slots = plan.executors.reduce((sum, executor) => sum + executor.slots.length, 0);
    const all = [...this.#organisations.values()];
    const held = all.reduce((sum, { heldMs }) => sum + heldMs, 0);
    const seconds = wallMs / 1_000;
    const byWait = [...this.#organisations]
      .map(([organisation, { waitsMs, heldMs }]) => ({ organisation, waits: waitsOf(waitsMs), heldMs }))
      .toSorted((a, b) => b.waits.runs - a.waits.runs || a.organisation - b.organisation);
    return [
      ...table([
        ['organisation', 'runs', 'wait p50', 'p99', 'max', 'held'],
        ...byWait
          .slice(0, MAX_ORGANISATIONS)
          .map(({ organisation, waits, heldMs }) => [
            `${organisation}`,
            `${waits.runs}`,
            ...[waits.p50, waits.p99, waits.max, heldMs].map(duration),
          ]),
        row('all', waitsOf(all.flatMap(({ waitsMs }) => waitsMs)), held),
      ]),
      ...(byWait.length > MAX_ORGANISATIONS
        ? [`(and ${byWait.length - MAX_ORGANISATIONS} more organisations)`]
        : []),
      `slots ${slots}, used ${percent(held / (slots * this.#lastEndMs))} of ${duration(this.#lastEndMs)}`,
      `fairness of waits (Jain's index; 1 is equal): ${fairness(all).toFixed(3)}`,
      `runs ${counts.runs}, facts ${counts.facts}, starts ${counts.starts}, retries ${counts.retries}`,
      `faults ${plan.faults.length}, lost executors ${counts.lostExecutors}, terms of leaders ${counts.takeovers}`,
      `${duration(virtualMs)} of virtual time in ${seconds.toFixed(1)} s: ${Math.round(counts.decisions / seconds)} decisions/s, ${Math.round(steps / seconds)} steps/s`,
    ];
  }
}

interface Waits {
  readonly runs: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const waitsOf = (waitsMs: readonly number[]): Waits => {
  const sorted = Float64Array.from(waitsMs).toSorted();
  const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  return { runs: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
};

const row = (name: string, { runs, p50, p99, max }: Waits, heldMs: number): string[] => [
  name,
  `${runs}`,
  ...[p50, p99, max, heldMs].map(duration),
];

/** Of the mean waits of organisations: an extra second keeps zeros apart. */
const fairness = (organisations: readonly OrganisationResults[]): number => {
  const means = organisations.map(
    ({ waitsMs }) => 1_000 + waitsMs.reduce((sum, ms) => sum + ms, 0) / waitsMs.length,
  );
  const sum = means.reduce((total, mean) => total + mean, 0);
  const squares = means.reduce((total, mean) => total + mean ** 2, 0);
  return means.length === 0 ? 1 : sum ** 2 / (means.length * squares);
};
