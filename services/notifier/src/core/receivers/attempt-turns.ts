import type { ConcurrencyLimits } from './concurrency-limits.ts';
import { HEALTHS, type Health, type ReceiverQueue } from './receiver-queues.ts';
import { RoundRobin } from './round-robin.ts';

/**
 * Receivers with something to send. Those of each health take turns, so that receivers that answer do not keep out those that never
 * had the chance, nor failing ones the others.
 */
export class AttemptTurns {
  readonly #limits: ConcurrencyLimits;
  readonly #rings: Readonly<Record<Health, RoundRobin<ReceiverQueue>>> = {
    healthy: new RoundRobin(),
    unknown: new RoundRobin(),
    failing: new RoundRobin(),
  };
  #first = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  add(queue: ReceiverQueue): void {
    this.#rings[queue.health].add(queue.receiver.org_id, queue);
  }

  /** One that may get a permit. Its situation may have changed since it was added. */
  next(): ReceiverQueue | undefined {
    this.#first = (this.#first + 1) % HEALTHS.length;
    for (const health of [...HEALTHS.slice(this.#first), ...HEALTHS.slice(0, this.#first)]) {
      const queue = this.#nextOf(health);
      if (queue) return queue;
    }
    return undefined;
  }

  #nextOf(health: Health): ReceiverQueue | undefined {
    while (this.#limits.hasFreeFor(health)) {
      const queue = this.#rings[health].next((org) => this.#limits.hasFreeOf(org, health));
      if (!queue || queue.health === health) return queue;
      this.add(queue);
    }
    return undefined;
  }
}
