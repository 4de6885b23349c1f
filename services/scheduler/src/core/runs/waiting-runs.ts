import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, requirementsKey, type Requirements, type Capabilities } from '../slots/requirements.ts';
import { OrderStatisticList } from './order-statistic-list.ts';
import type { RunName } from '../slots/run-name.ts';

interface Line {
  readonly demand: Requirements;
  readonly numbers: OrderStatisticList;
  readonly names: Map<number, RunName>;
}

/** A run that waits. Its number is its own: the log sequence at which it was queued. */
export interface WaitingRun {
  readonly name: RunName;
  readonly number: number;
  readonly requirements: Requirements;
}

/**
 * Queued runs: for each GPU model one line for each demand, in the order of the runs' numbers. A requeued run keeps
 * its number, so it comes to the front again. A run that nobody can take stands in a line of its own and blocks no other.
 */
export class WaitingRuns {
  readonly #models = new Map<GpuModel, Map<string, Line>>();

  add({ name, number, requirements: demand }: WaitingRun): void {
    const lines = this.#models.get(demand.gpu) ?? new Map<string, Line>();
    this.#models.set(demand.gpu, lines);
    const key = requirementsKey(demand);
    const line = lines.get(key) ?? { demand, numbers: new OrderStatisticList(), names: new Map() };
    lines.set(key, line);
    line.numbers.add(number);
    line.names.set(number, name);
  }

  remove({ number, requirements: demand }: WaitingRun): void {
    const lines = this.#models.get(demand.gpu);
    const line = lines?.get(requirementsKey(demand));
    line?.numbers.delete(number);
    line?.names.delete(number);
    if (line?.numbers.size === 0) lines?.delete(requirementsKey(demand));
    if (lines?.size === 0) this.#models.delete(demand.gpu);
  }

  /** The longest waiting run of this GPU model that the executor could serve. */
  firstFor(gpu: GpuModel, offer: Capabilities): RunName | undefined {
    let first = Infinity;
    let from: Line | undefined;
    for (const line of this.#models.get(gpu)?.values() ?? []) {
      const head = line.numbers.first();
      if (head === undefined || head >= first || !canServe(offer, line.demand)) continue;
      first = head;
      from = line;
    }
    return from?.names.get(first);
  }

  /**
   * How many runs for its GPU model that were queued before this one would be given to the same executors: those of the
   * `offers` that fit this run. While there are none nobody knows who will take which run, and all count.
   */
  aheadOf({ number, requirements: demand }: WaitingRun, offers: readonly Capabilities[]): number {
    let ahead = 0;
    for (const line of this.#models.get(demand.gpu)?.values() ?? []) {
      if ((line.numbers.first() ?? Infinity) >= number) continue;
      const competes = offers.length === 0 || offers.some((offer) => canServe(offer, line.demand));
      if (competes) ahead += line.numbers.countBelow(number);
    }
    return ahead;
  }

  /** By GPU model: how many wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; first: RunName }> {
    for (const [gpu, lines] of this.#models) {
      const heads = [...lines.values()].map(({ numbers, names }) => {
        const number = numbers.first() ?? Infinity;
        return { number, name: names.get(number) };
      });
      const first = heads.toSorted((a, b) => a.number - b.number)[0]?.name;
      const length = [...lines.values()].reduce((sum, { numbers }) => sum + numbers.size, 0);
      if (first) yield { gpu, length, first };
    }
  }
}
