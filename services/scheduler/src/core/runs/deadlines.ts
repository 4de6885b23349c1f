import { IndexedPriorityQueue } from './indexed-priority-queue.ts';

/** The columns of rows that the deadlines need. */
export interface DeadlineColumns {
  deadlineOf(row: number): number;
  setDeadline(row: number, ms: number): void;
  beforeOf(row: number): number;
  setBefore(row: number, other: number): void;
  afterOf(row: number): number;
  setAfter(row: number, other: number): void;
}

const NONE = -1;
const SECOND_MS = 1_000;

/**
 * Deadlines of rows: those within one second are a list (a timing wheel without an end; Varghese and Lauck, 1987). So a change costs the same
 * however many there are.
 */
export class Deadlines {
  readonly #firsts = new Map<number, number>();
  /** Those with a row. */
  readonly #seconds = new IndexedPriorityQueue<number>();
  readonly #columns: DeadlineColumns;

  constructor(columns: DeadlineColumns) {
    this.#columns = columns;
  }

  has(row: number): boolean {
    return this.#columns.deadlineOf(row) > 0;
  }

  /** Milliseconds since 1970. */
  set(row: number, ms: number): void {
    const columns = this.#columns;
    this.delete(row);
    const second = secondOf(ms);
    const first = this.#firsts.get(second) ?? NONE;
    if (first === NONE) this.#seconds.set(second, second);
    else columns.setBefore(first, row);
    this.#firsts.set(second, row);
    columns.setDeadline(row, ms);
    columns.setBefore(row, NONE);
    columns.setAfter(row, first);
  }

  delete(row: number): void {
    if (!this.has(row)) return;
    const columns = this.#columns;
    const second = secondOf(columns.deadlineOf(row));
    const [before, after] = [columns.beforeOf(row), columns.afterOf(row)];
    columns.setDeadline(row, 0);
    if (after !== NONE) columns.setBefore(after, before);
    if (before !== NONE) columns.setAfter(before, after);
    else if (after !== NONE) this.#firsts.set(second, after);
    else {
      this.#firsts.delete(second);
      this.#seconds.delete(second);
    }
  }

  /** Takes out those until now, in milliseconds, the earliest first; of equal ones the one that was set first. */
  *take(now: number): Generator<number> {
    for (
      let first = this.#seconds.first();
      first && first.item * SECOND_MS <= now;
      first = this.#seconds.first()
    ) {
      const expired = this.#expiredIn(first.item, now);
      if (expired.length === 0) return;
      for (const row of expired) {
        if (this.#columns.deadlineOf(row) > now || !this.has(row)) continue;
        this.delete(row);
        yield row;
      }
    }
  }

  #expiredIn(second: number, now: number): number[] {
    const columns = this.#columns;
    const expired: number[] = [];
    for (let row = this.#firsts.get(second) ?? NONE; row !== NONE; row = columns.afterOf(row))
      if (columns.deadlineOf(row) <= now) expired.push(row);
    return expired.toReversed().toSorted((one, other) => columns.deadlineOf(one) - columns.deadlineOf(other));
  }
}

const secondOf = (ms: number): number => Math.floor(ms / SECOND_MS);
