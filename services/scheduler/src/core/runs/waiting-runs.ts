import type { GpuModel } from '@runledger/contracts/gpu';
import { canServe, requirementsKey, type Capabilities, type Requirements } from '../slots/requirements.ts';
import type { RunName } from '../slots/run-name.ts';
import { OrderStatisticList } from './order-statistic-list.ts';

interface Queue {
  readonly requirements: Requirements;
  readonly numbers: OrderStatisticList;
  readonly names: Map<number, RunName>;
}

/** A run that waits. Its number is unique: the log sequence at which it was queued. */
export interface WaitingRun {
  readonly name: RunName;
  readonly number: number;
  readonly requirements: Requirements;
}

/**
 * Queued runs: for each GPU model, one queue for each set of requirements, in the order of the runs' numbers. A requeued
 * run keeps its number, so it is in front again. A run that no executor can take is in a queue of its own and blocks no other.
 */
export class WaitingRuns {
  readonly #models = new Map<GpuModel, Map<string, Queue>>();

  add({ name, number, requirements }: WaitingRun): void {
    const queues = this.#models.get(requirements.gpu) ?? new Map<string, Queue>();
    this.#models.set(requirements.gpu, queues);
    const key = requirementsKey(requirements);
    const queue = queues.get(key) ?? { requirements, numbers: new OrderStatisticList(), names: new Map() };
    queues.set(key, queue);
    queue.numbers.add(number);
    queue.names.set(number, name);
  }

  remove({ number, requirements }: WaitingRun): void {
    const queues = this.#models.get(requirements.gpu);
    const queue = queues?.get(requirementsKey(requirements));
    queue?.numbers.delete(number);
    queue?.names.delete(number);
    if (queue?.numbers.size === 0) queues?.delete(requirementsKey(requirements));
    if (queues?.size === 0) this.#models.delete(requirements.gpu);
  }

  /** The run of this GPU model that has waited longest, of those that the executor can serve. */
  firstFor(gpu: GpuModel, capabilities: Capabilities): RunName | undefined {
    let first = Infinity;
    let from: Queue | undefined;
    for (const queue of this.#models.get(gpu)?.values() ?? []) {
      const head = queue.numbers.first();
      if (head === undefined || head >= first || !canServe(capabilities, queue.requirements)) continue;
      first = head;
      from = queue;
    }
    return from?.names.get(first);
  }

  /**
   * How many runs of its GPU model were queued before this one and compete for the same executors: those of the
   * capabilities that fit this run (`able`). Without such an executor all of them count.
   */
  aheadOf({ number, requirements }: WaitingRun, able: readonly Capabilities[]): number {
    let ahead = 0;
    for (const queue of this.#models.get(requirements.gpu)?.values() ?? []) {
      if ((queue.numbers.first() ?? Infinity) >= number) continue;
      const competes =
        able.length === 0 || able.some((capabilities) => canServe(capabilities, queue.requirements));
      if (competes) ahead += queue.numbers.countBelow(number);
    }
    return ahead;
  }

  /** By GPU model: how many runs wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; first: RunName }> {
    for (const [gpu, queues] of this.#models) {
      let length = 0;
      let head = Infinity;
      let first: RunName | undefined;
      for (const { numbers, names } of queues.values()) {
        length += numbers.size;
        const number = numbers.first() ?? Infinity;
        if (number >= head) continue;
        head = number;
        first = names.get(number);
      }
      if (first) yield { gpu, length, first };
    }
  }
}
