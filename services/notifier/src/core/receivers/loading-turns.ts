import { HEALTHS, type Health, type ReceiverQueue } from './receiver-queues.ts';
import { RoundRobin } from './round-robin.ts';

/** Receivers of one health that are loaded for, or were and wait for a permit. The healthy need not wait for the others. */
const MAX_LOADED_FOR = 64;
/**
 * Receivers that have not proven to answer, loaded for between two ticks: tens of thousands of dead ones may come due together
 * after a takeover, and their probes must not keep the broker busy.
 */
const MAX_PROBED = 50;

/** Decides whose deferred deliveries are loaded next: for a few receivers at a time, however many have some. */
export class LoadingTurns {
  readonly #turns = HEALTHS.map((health) => ({
    health,
    ring: new RoundRobin<ReceiverQueue>(),
    loadedFor: new Set<ReceiverQueue>(),
  }));
  #skipped = new Set<ReceiverQueue>();
  #probed = 0;

  add(queue: ReceiverQueue): void {
    this.#turns.find(({ health }) => health === queue.health)?.ring.add(queue.receiver.org_id, queue);
  }

  /** The next receiver, of those that may. From then on it counts as one that is loaded for. */
  next(may: (queue: ReceiverQueue) => boolean): ReceiverQueue | undefined {
    for (const { health, ring, loadedFor } of this.#turns) {
      while (loadedFor.size < MAX_LOADED_FOR && this.#mayProbe(health)) {
        const queue = ring.next();
        if (!queue) break;
        if (!may(queue)) continue;
        if (health !== 'healthy') this.#probed += 1;
        loadedFor.add(queue);
        return queue;
      }
    }
    return undefined;
  }

  /** An attempt of the receiver has begun, or nothing waits for it any more. */
  moved(queue: ReceiverQueue): void {
    for (const { loadedFor } of this.#turns) loadedFor.delete(queue);
  }

  /** Skips the receiver until the next `tick`: loading at once would find the same again. */
  later(queue: ReceiverQueue): void {
    this.#skipped.add(queue);
  }

  isLater(queue: ReceiverQueue): boolean {
    return this.#skipped.has(queue);
  }

  /** Once a second. Returns those that were skipped. */
  tick(): Iterable<ReceiverQueue> {
    const skipped = this.#skipped;
    this.#skipped = new Set();
    this.#probed = 0;
    return skipped;
  }

  #mayProbe(health: Health): boolean {
    return health === 'healthy' || this.#probed < MAX_PROBED;
  }
}
