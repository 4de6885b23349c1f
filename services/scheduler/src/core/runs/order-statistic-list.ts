const MAX_IN_BLOCK = 1_024;
const FIRST = { at: 0, index: 0, has: true } as const;

/**
 * Items in the order of their numbers, which are unique: it knows the first one, and how many come before a given place. They are
 * kept in blocks of bounded length: a change moves the items of one block only, and counting adds up the lengths of blocks, some
 * hundred additions for a hundred thousand items. It is fast for items that are mostly added at the end and removed at the front.
 */
export class OrderStatisticList<Of> {
  /** No block is empty, and neighbours that fit in half a block are joined: so there are never many blocks. */
  readonly #blocks: Of[][] = [];
  readonly #numberOf: (item: Of) => number;
  #size = 0;

  constructor(numberOf: (item: Of) => number) {
    this.#numberOf = numberOf;
  }

  get size(): number {
    return this.#size;
  }

  /** The one with the lowest number. */
  first(): Of | undefined {
    return this.#blocks[0]?.[0];
  }

  /** How many come first for which this holds. It must hold for no item behind one for which it does not. */
  countWhile(holds: (item: Of) => boolean): number {
    const at = this.#blockAt(holds);
    let count = countWhile(this.#blocks[at] ?? [], holds);
    for (let before = 0; before < at; before += 1) count += this.#blocks[before]?.length ?? 0;
    return count;
  }

  /** Does nothing when there is one with its number. */
  add(item: Of): void {
    const last = this.#blocks.at(-1);
    const end = last?.at(-1);
    if (
      last &&
      end !== undefined &&
      last.length < MAX_IN_BLOCK &&
      this.#numberOf(end) < this.#numberOf(item)
    ) {
      last.push(item);
      this.#size += 1;
    } else this.#insert(item);
  }

  /** Many, in the order of their numbers. */
  addAll(items: readonly Of[]): void {
    const [first] = items;
    const block = this.#blocks.at(-1);
    const end = block?.at(-1);
    if (first !== undefined && end !== undefined && this.#numberOf(end) >= this.#numberOf(first)) {
      for (const item of items) this.add(item);
      return;
    }
    let from = block ? MAX_IN_BLOCK - block.length : 0;
    if (from > 0) block?.push(...items.slice(0, from));
    for (; from < items.length; from += MAX_IN_BLOCK)
      this.#blocks.push(items.slice(from, from + MAX_IN_BLOCK));
    this.#size += items.length;
  }

  #insert(item: Of): void {
    const { at, index, has } = this.#placeOf(item);
    if (has) return;
    const block = this.#blocks[at] ?? [];
    this.#size += 1;
    if (block.length > 0 && block.length < MAX_IN_BLOCK) {
      block.splice(index, 0, item);
    } else if (index === block.length && at >= this.#blocks.length - 1) {
      // Items that come in order leave full blocks behind.
      this.#blocks.push([item]);
    } else {
      const half = block.length >> 1;
      const upper = block.splice(half);
      this.#blocks.splice(at + 1, 0, upper);
      if (index <= half) block.splice(index, 0, item);
      else upper.splice(index - half, 0, item);
    }
  }

  /** Whether there was one with its number. */
  delete(item: Of): boolean {
    const isFirst = this.first() === item;
    const { at, index, has } = isFirst ? FIRST : this.#placeOf(item);
    const block = this.#blocks[at];
    if (!has || !block) return false;
    this.#size -= 1;
    if (isFirst) block.shift();
    else block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
    else {
      this.#joinWithNext(at);
      this.#joinWithNext(at - 1);
    }
    return true;
  }

  #joinWithNext(at: number): void {
    const block = this.#blocks[at];
    const next = this.#blocks[at + 1];
    if (!block || !next || block.length + next.length > MAX_IN_BLOCK / 2) return;
    block.push(...next);
    this.#blocks.splice(at + 1, 1);
  }

  /** Where an item with this number is, or belongs. */
  #placeOf(item: Of): { readonly at: number; readonly index: number; readonly has: boolean } {
    const number = this.#numberOf(item);
    const at = this.#blockAt((other) => this.#numberOf(other) <= number);
    const block = this.#blocks[at] ?? [];
    const index = countWhile(block, (other) => this.#numberOf(other) < number);
    const found = block[index];
    return { at, index, has: found !== undefined && this.#numberOf(found) === number };
  }

  /** The last block for whose first item this holds, or the first block. */
  #blockAt(holds: (item: Of) => boolean): number {
    const blocks = countWhile(this.#blocks, ([first]) => first !== undefined && holds(first));
    return Math.max(blocks - 1, 0);
  }
}

/** By halves: it must hold for no item behind one for which it does not. */
const countWhile = <Of>(items: readonly Of[], holds: (item: Of) => boolean): number => {
  let low = 0;
  for (let high = items.length; low < high;) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as Of)) low = middle + 1;
    else high = middle;
  }
  return low;
};
