import type { Row } from './known-run.ts';

const MAX_IN_BLOCK = 1_024;
const FIRST = { at: 0, index: 0, has: true } as const;

/** A full block takes half of its memory until it changes, and the garbage collector does not look into it. */
type Block = Row[] | Int32Array;

/**
 * Rows in the order of their numbers, which are unique: it knows the first one, and how many come before a given place. They are
 * kept in blocks of bounded length: a change moves the rows of one block only, and counting adds up the lengths of blocks, some
 * hundred additions for a hundred thousand rows. It is fast for rows that are mostly added at the end and removed at the front.
 */
export class OrderStatisticList {
  /** No block is empty, and neighbours that fit in half a block are joined: so there are never many blocks. */
  readonly #blocks: Block[] = [];
  readonly #numberOf: (row: Row) => number;
  #size = 0;

  constructor(numberOf: (row: Row) => number) {
    this.#numberOf = numberOf;
  }

  get size(): number {
    return this.#size;
  }

  /** Another one with the same rows. Full blocks are shared until one of the two lists changes them. */
  copy(): OrderStatisticList {
    const copy = new OrderStatisticList(this.#numberOf);
    for (const block of this.#blocks) copy.#blocks.push(isOpen(block) ? [...block] : block);
    copy.#size = this.#size;
    return copy;
  }

  /** The one with the lowest number. */
  first(): Row | undefined {
    return this.#blocks[0]?.[0];
  }

  /** How many come first for which this holds. It must hold for no row behind one for which it does not. */
  countWhile(holds: (row: Row) => boolean): number {
    const at = this.#blockAt(holds);
    let count = countWhile(this.#blocks[at] ?? [], holds);
    for (let before = 0; before < at; before += 1) count += this.#blocks[before]?.length ?? 0;
    return count;
  }

  /** False when there is one with its number. */
  add(row: Row): boolean {
    const last = this.#blocks.at(-1);
    const end = last?.at(-1);
    if (
      isOpen(last) &&
      end !== undefined &&
      last.length < MAX_IN_BLOCK &&
      this.#numberOf(end) < this.#numberOf(row)
    ) {
      last.push(row);
      this.#size += 1;
      return true;
    }
    return this.#insert(row);
  }

  /** Many, in the order of their numbers. */
  addAll(rows: readonly Row[]): void {
    const [first] = rows;
    const end = this.#blocks.at(-1)?.at(-1);
    if (first !== undefined && end !== undefined && this.#numberOf(end) >= this.#numberOf(first)) {
      for (const row of rows) this.add(row);
      return;
    }
    const last = this.#blocks.pop() ?? [];
    let from = MAX_IN_BLOCK - last.length;
    this.#blocks.push(packedIfFull([...last, ...rows.slice(0, from)]));
    for (; from < rows.length; from += MAX_IN_BLOCK)
      this.#blocks.push(packedIfFull(rows.slice(from, from + MAX_IN_BLOCK)));
    this.#size += rows.length;
  }

  #insert(row: Row): boolean {
    const { at, index, has } = this.#placeOf(row);
    if (has) return false;
    const block = this.#opened(at);
    this.#size += 1;
    if (block.length < MAX_IN_BLOCK) {
      block.splice(index, 0, row);
    } else if (index === block.length && at === this.#blocks.length - 1) {
      // Rows that come in order leave full blocks behind.
      this.#blocks[at] = packedIfFull(block);
      this.#blocks.push([row]);
    } else {
      const half = block.length >> 1;
      const upper = block.splice(half);
      this.#blocks.splice(at + 1, 0, upper);
      if (index <= half) block.splice(index, 0, row);
      else upper.splice(index - half, 0, row);
    }
    return true;
  }

  /** Whether there was one with its number. */
  delete(row: Row): boolean {
    const isFirst = this.first() === row;
    const { at, index, has } = isFirst ? FIRST : this.#placeOf(row);
    if (!has) return false;
    const block = this.#opened(at);
    this.#size -= 1;
    if (isFirst) block.shift();
    else block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
    else {
      this.#joinWithNext(at);
      if (at > 0) this.#joinWithNext(at - 1);
    }
    return true;
  }

  #joinWithNext(at: number): void {
    const block = this.#blocks[at];
    const next = this.#blocks[at + 1];
    if (!isOpen(block) || !isOpen(next) || block.length + next.length > MAX_IN_BLOCK / 2) return;
    block.push(...next);
    this.#blocks.splice(at + 1, 1);
  }

  /** To be changed. */
  #opened(at: number): Row[] {
    const block = this.#blocks[at];
    if (isOpen(block)) return block;
    const opened = Array.from(block ?? []);
    this.#blocks[at] = opened;
    return opened;
  }

  /** Where a row with this number is, or belongs. */
  #placeOf(row: Row): { readonly at: number; readonly index: number; readonly has: boolean } {
    const number = this.#numberOf(row);
    const at = this.#blockAt((other) => this.#numberOf(other) <= number);
    const block = this.#blocks[at] ?? [];
    const index = countWhile(block, (other) => this.#numberOf(other) < number);
    const found = block[index];
    return { at, index, has: found !== undefined && this.#numberOf(found) === number };
  }

  /** The last block for whose first row this holds, or the first block. */
  #blockAt(holds: (row: Row) => boolean): number {
    const blocks = countWhile(this.#blocks, ([first]) => first !== undefined && holds(first));
    return Math.max(blocks - 1, 0);
  }
}

const isOpen = (block: Block | undefined): block is Row[] => Array.isArray(block);

const packedIfFull = (block: Row[]): Block => (block.length < MAX_IN_BLOCK ? block : Int32Array.from(block));

/** By halves: it must hold for no item behind one for which it does not. */
const countWhile = <Of>(items: ArrayLike<Of>, holds: (item: Of) => boolean): number => {
  let low = 0;
  for (let high = items.length; low < high;) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as Of)) low = middle + 1;
    else high = middle;
  }
  return low;
};

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
