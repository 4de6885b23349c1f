const MOST_IN_BLOCK = 1_024;

/**
 * A set of numbers that knows its lowest one and how many are below any number. They stand in order in blocks of bounded
 * length, so that a change moves one block's numbers only, and counting adds up lengths: some hundred additions for
 * a hundred thousand numbers. Made for numbers that come mostly in order and go mostly from the front.
 */
export class OrderStatisticList {
  /** None is empty, and neighbours that would fit in half a block are joined: so there are never many. */
  readonly #blocks: number[][] = [];
  readonly #mostInBlock: number;
  #size = 0;

  constructor(mostInBlock = MOST_IN_BLOCK) {
    this.#mostInBlock = mostInBlock;
  }

  get size(): number {
    return this.#size;
  }

  /** The lowest. */
  first(): number | undefined {
    return this.#blocks[0]?.[0];
  }

  countBelow(number: number): number {
    const at = this.#blockFor(number);
    let count = placeIn(this.#blocks[at] ?? [], number);
    for (let before = 0; before < at; before += 1) count += this.#blocks[before]?.length ?? 0;
    return count;
  }

  add(number: number): void {
    const at = this.#blockFor(number);
    const block = this.#blocks[at] ?? [];
    const place = placeIn(block, number);
    if (block[place] === number) return;
    this.#size += 1;
    if (block.length > 0 && block.length < this.#mostInBlock) {
      block.splice(place, 0, number);
    } else if (place === block.length && at >= this.#blocks.length - 1) {
      // In order: blocks that are left behind stay full.
      this.#blocks.push([number]);
    } else {
      const half = block.length >> 1;
      const upper = block.splice(half);
      this.#blocks.splice(at + 1, 0, upper);
      if (place <= half) block.splice(place, 0, number);
      else upper.splice(place - half, 0, number);
    }
  }

  delete(number: number): void {
    const at = this.#blockFor(number);
    const block = this.#blocks[at] ?? [];
    const place = placeIn(block, number);
    if (block[place] !== number) return;
    this.#size -= 1;
    block.splice(place, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
    else {
      this.#joinWithNext(at);
      this.#joinWithNext(at - 1);
    }
  }

  #joinWithNext(at: number): void {
    const block = this.#blocks[at];
    const next = this.#blocks[at + 1];
    if (!block || !next || block.length + next.length > this.#mostInBlock / 2) return;
    block.push(...next);
    this.#blocks.splice(at + 1, 1);
  }

  /** The block in which the number is or would be: the last that begins no higher. */
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
const placeIn = (block: readonly number[], number: number): number => {
  let low = 0;
  for (let high = block.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((block[middle] ?? Infinity) < number) low = middle + 1;
    else high = middle;
  }
  return low;
};
