import type { About, Decided } from './verdict.ts';

/** A decision that the slice may still hold further on. */
export interface OpenDecision<Decision> {
  /** The run or executor that it is about: there is one open decision for each. */
  readonly key: string;
  readonly about: About;
  readonly decision: Decision;
  readonly decided: Decided;
  /** When the code made it, in the time of the slice. Milliseconds since 1970. */
  readonly atMs: number;
}

/** Decisions that are not compared yet, in the order in which they were made. */
export class OpenDecisions<Decision> {
  readonly #open = new Map<string, OpenDecision<Decision>>();
  /** Those that were reported because they had not been recorded in time. */
  readonly #reported = new Map<string, Decided>();

  add(open: OpenDecision<Decision>): void {
    this.close(open.key);
    this.#open.set(open.key, open);
  }

  get(key: string): OpenDecision<Decision> | undefined {
    return this.#open.get(key);
  }

  /** What was reported about the run or executor, and waits for its next fact. */
  reported(key: string): Decided | undefined {
    return this.#reported.get(key);
  }

  /** The run or executor has another fact, or the decision is taken back. */
  close(key: string): void {
    this.#open.delete(key);
    this.#reported.delete(key);
  }

  all(): Iterable<OpenDecision<Decision>> {
    return this.#open.values();
  }

  madeBefore(ms: number): OpenDecision<Decision>[] {
    const made: OpenDecision<Decision>[] = [];
    for (const open of this.#open.values()) {
      if (open.atMs >= ms) break;
      made.push(open);
    }
    return made;
  }

  report({ key, decided }: OpenDecision<Decision>): void {
    this.#open.delete(key);
    this.#reported.set(key, decided);
  }

  /** Takes out all of them. */
  takeAll(): OpenDecision<Decision>[] {
    const taken = [...this.#open.values()];
    this.#open.clear();
    this.#reported.clear();
    return taken;
  }
}
