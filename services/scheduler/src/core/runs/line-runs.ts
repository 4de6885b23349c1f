import type { Row } from './known-run.ts';
import { OrderStatisticList } from './order-statistic-list.ts';

/** Waiting runs in the order in which they were queued, and which of them are ready: each one, until its concurrency key holds it back. */
export class LineRuns {
  readonly #all: OrderStatisticList;
  /** Undefined while no run was held back: then all are ready. */
  #ready: OrderStatisticList | undefined;

  /** `numberOf`: the sequence of the log with which a run was queued. */
  constructor(numberOf: (row: Row) => number) {
    this.#all = new OrderStatisticList(numberOf);
  }

  get size(): number {
    return this.#all.size;
  }

  first(): Row | undefined {
    return this.#all.first();
  }

  firstReady(): Row | undefined {
    return (this.#ready ?? this.#all).first();
  }

  /** How many come first for which this holds. It must hold for no run behind one for which it does not. */
  countWhile(holds: (row: Row) => boolean): number {
    return this.#all.countWhile(holds);
  }

  /** False when it was there. */
  add(row: Row): boolean {
    if (!this.#all.add(row)) return false;
    this.#ready?.add(row);
    return true;
  }

  /** Many that were not there, in order. */
  addAll(rows: readonly Row[]): void {
    this.#all.addAll(rows);
    this.#ready?.addAll(rows);
  }

  /** Whether it was there. */
  delete(row: Row): boolean {
    this.#ready?.delete(row);
    return this.#all.delete(row);
  }

  /** It is not ready, until `release`. */
  holdBack(row: Row): void {
    this.#ready ??= this.#all.copy();
    this.#ready.delete(row);
  }

  release(row: Row): void {
    this.#ready?.add(row);
  }
}
