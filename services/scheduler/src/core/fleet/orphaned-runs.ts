import type { RunName } from '../slots/run-name.ts';

/**
 * Runs that execute on unknown executors. Facts of runs and facts of executors arrive in any order, so such a run has a
 * full heartbeat period before its executor counts as lost.
 */
export class OrphanedRuns {
  readonly #since = new Map<RunName, number>();

  add(run: RunName, now: number): void {
    if (!this.#since.has(run)) this.#since.set(run, now);
  }

  remove(run: RunName): void {
    if (this.#since.size > 0) this.#since.delete(run);
  }

  reset(now: number): void {
    for (const run of this.#since.keys()) this.#since.set(run, now);
  }

  clear(): void {
    this.#since.clear();
  }

  /** Removes and returns those that have waited a whole period. */
  takeAfter(periodMs: number, now: number): RunName[] {
    const expired: RunName[] = [];
    for (const [run, since] of this.#since) {
      if (now - since < periodMs) break;
      expired.push(run);
      this.#since.delete(run);
    }
    return expired;
  }
}
