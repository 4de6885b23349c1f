import type { RunName } from '../slots/run-name.ts';

/**
 * Runs under way on executors that nobody has told of yet. The facts of runs and of executors arrive in no common order,
 * so such a run is given a full period before its executor counts as gone.
 */
export class OrphanedRuns {
  readonly #since = new Map<RunName, number>();

  add(run: RunName, now: number): void {
    if (!this.#since.has(run)) this.#since.set(run, now);
  }

  remove(run: RunName): void {
    this.#since.delete(run);
  }

  reset(now: number): void {
    for (const run of this.#since.keys()) this.#since.set(run, now);
  }

  clear(): void {
    this.#since.clear();
  }

  /** Takes out those that have waited a whole period. */
  takeAfter(periodMs: number, now: number): RunName[] {
    const due: RunName[] = [];
    for (const [run, since] of this.#since) {
      if (now - since < periodMs) break;
      due.push(run);
      this.#since.delete(run);
    }
    return due;
  }
}
