import type { RegisteredExecutor } from './registered-executor.ts';

/**
 * Since when each executor has sent no heartbeat, in the order of these times: the executor that has been unresponsive
 * for the longest time is first. Times are connected time, in milliseconds.
 */
export class LastSeen {
  readonly #seen = new Map<RegisteredExecutor, number>();

  set(executor: RegisteredExecutor, now: number): void {
    this.#seen.delete(executor);
    this.#seen.set(executor, now);
  }

  delete(executor: RegisteredExecutor): void {
    this.#seen.delete(executor);
  }

  get(executor: RegisteredExecutor): number | undefined {
    return this.#seen.get(executor);
  }

  oldest(): number | undefined {
    const [oldest] = this.#seen.values();
    return oldest;
  }

  /** Executors without a heartbeat for the whole period, the longest unresponsive one first. */
  unresponsiveFor(periodMs: number, now: number): RegisteredExecutor[] {
    const unresponsive: RegisteredExecutor[] = [];
    for (const [executor, since] of this.#seen) {
      if (now - since < periodMs) break;
      unresponsive.push(executor);
    }
    return unresponsive;
  }
}
