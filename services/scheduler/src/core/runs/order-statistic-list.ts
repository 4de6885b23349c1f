const MAX_IN_BLOCK = 1_024;

/**
 * A set of numbers that knows its lowest number and how many numbers are below a given one. The numbers are sorted in
 * blocks of bounded length: a change moves the numbers of one block only, and counting adds up the lengths of blocks, some
 * hundred additions for a hundred thousand numbers. It is fast for numbers that are mostly added at the end and
 * removed at the front.
 */
export class OrderStatisticList {
  /** No block is empty, and neighbours that fit in half a block are joined: so there are never many blocks. */
  readonly #blocks: number[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The lowest number. */
  first(): number | undefined {
    return this.#blocks[0]?.[0];
  }

  countBelow(number: number): number {
    const at = this.#blockFor(number);
    let count = indexIn(this.#blocks[at] ?? [], number);
    for (let before = 0; before < at; before += 1) count += this.#blocks[before]?.length ?? 0;
    return count;
  }

  add(number: number): void {
    const at = this.#blockFor(number);
    const block = this.#blocks[at] ?? [];
    const index = indexIn(block, number);
    if (block[index] === number) return;
    this.#size += 1;
    if (block.length > 0 && block.length < MAX_IN_BLOCK) {
      block.splice(index, 0, number);
    } else if (index === block.length && at >= this.#blocks.length - 1) {
      // Numbers that come in order leave full blocks behind.
      this.#blocks.push([number]);
    } else {
      const half = block.length >> 1;
      const upper = block.splice(half);
      this.#blocks.splice(at + 1, 0, upper);
      if (index <= half) block.splice(index, 0, number);
      else upper.splice(index - half, 0, number);
    }
  }

  delete(number: number): void {
    const at = this.#blockFor(number);
    const block = this.#blocks[at] ?? [];
    const index = indexIn(block, number);
    if (block[index] !== number) return;
    this.#size -= 1;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
    else {
      this.#joinWithNext(at);
      this.#joinWithNext(at - 1);
    }
  }

  #joinWithNext(at: number): void {
    const block = this.#blocks[at];
    const next = this.#blocks[at + 1];
    if (!block || !next || block.length + next.length > MAX_IN_BLOCK / 2) return;
    block.push(...next);
    this.#blocks.splice(at + 1, 1);
  }

  /** The block that holds the number, or would hold it: the last one whose first number is not higher. */
  #blockFor(number: number): number {
    let low = 0;
    for (let high = this.#blocks.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if ((this.#blocks[middle]?.[0] ?? Infinity) <= number) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** How many numbers of the block are lower. */
const indexIn = (block: readonly number[], number: number): number => {
  let low = 0;
  for (let high = block.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((block[middle] ?? Infinity) < number) low = middle + 1;
    else high = middle;
  }
  return low;
};
