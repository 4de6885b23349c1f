import type { ConcurrencyLimits } from './concurrency-limits.ts';
import { HEALTHS, type Health, type ReceiverQueue } from './receiver-queues.ts';
import { roundRobin, type RoundRobin } from './round-robin.ts';

/**
 * Receivers with something to send. Those of each health take turns, so that receivers that answer do not keep out those that never
 * had the chance, nor failing ones the others.
 */
export interface AttemptTurns {
  add(queue: ReceiverQueue): void;
  /** One that may get a permit. Its situation may have changed since it was added. */
  next(): ReceiverQueue | undefined;
}

export const attemptTurns = (limits: ConcurrencyLimits): AttemptTurns => {
  const rings: Readonly<Record<Health, RoundRobin<ReceiverQueue>>> = {
    healthy: roundRobin(),
    unknown: roundRobin(),
    failing: roundRobin(),
  };
  let first = 0;

  const add = (queue: ReceiverQueue): void => rings[queue.health].add(queue.receiver.org_id, queue);

  const nextOf = (health: Health): ReceiverQueue | undefined => {
    while (limits.hasFreeFor(health)) {
      const queue = rings[health].next((org) => limits.hasFreeOf(org, health));
      if (!queue || queue.health === health) return queue;
      add(queue);
    }
    return undefined;
  };

  return {
    add,
    next: () => {
      first += 1;
      for (let turn = 0; turn < HEALTHS.length; turn += 1) {
        const health = HEALTHS[(first + turn) % HEALTHS.length];
        const queue = health && nextOf(health);
        if (queue) return queue;
      }
      return undefined;
    },
  };
};
