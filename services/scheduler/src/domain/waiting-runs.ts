import type { GpuModel } from '@runledger/contracts/gpu';
import { couldServe, demandKey, type Demand, type Offer } from './demand.ts';
import { RankedSet } from './ranked-set.ts';
import type { RunName } from './run-name.ts';

interface Line {
  readonly demand: Demand;
  readonly runs: RankedSet<RunName>;
}

/**
 * Queued runs: for each GPU model one line for each demand, in the order of the runs' numbers. A requeued run keeps
 * its number, so it comes to the front again. A run that nobody can take stands in a line of its own and blocks no other.
 */
export class WaitingRuns {
  readonly #models = new Map<GpuModel, Map<string, Line>>();

  add(run: RunName, demand: Demand, number: number): void {
    const lines = this.#models.get(demand.gpu) ?? new Map<string, Line>();
    this.#models.set(demand.gpu, lines);
    const key = demandKey(demand);
    const line = lines.get(key) ?? { demand, runs: new RankedSet<RunName>() };
    lines.set(key, line);
    line.runs.set(run, number);
  }

  remove(run: RunName, demand: Demand): void {
    const lines = this.#models.get(demand.gpu);
    const line = lines?.get(demandKey(demand));
    line?.runs.delete(run);
    if (line?.runs.size === 0) lines?.delete(demandKey(demand));
    if (lines?.size === 0) this.#models.delete(demand.gpu);
  }

  /** The longest waiting run of this GPU model that the executor could serve. */
  firstFor(gpu: GpuModel, offer: Offer): RunName | undefined {
    let first: { item: RunName; rank: number } | undefined;
    for (const { demand, runs } of this.#models.get(gpu)?.values() ?? []) {
      const head = runs.first();
      if (head && (!first || head.rank < first.rank) && couldServe(offer, demand)) first = head;
    }
    return first?.item;
  }

  /** By GPU model: how many wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; first: RunName }> {
    for (const [gpu, lines] of this.#models) {
      const heads = [...lines.values()].flatMap(({ runs }) => runs.first() ?? []);
      const first = heads.toSorted((a, b) => a.rank - b.rank)[0];
      const length = [...lines.values()].reduce((sum, { runs }) => sum + runs.size, 0);
      if (first) yield { gpu, length, first: first.item };
    }
  }
}
