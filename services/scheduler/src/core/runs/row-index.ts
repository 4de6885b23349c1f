import { UUID_WORDS } from './packed-rows.ts';

type Words = Uint32Array;

const SHARD_BITS = 10;
const FEWEST_SLOTS = 8;
/** Slots for each row that is expected: some tables get more rows than others. */
const ROOM = 1.5;

/** Where the ids of rows are. */
export interface IdsOfRows {
  readonly wordsOf: (row: number) => Words;
  readonly firstWordOf: (row: number) => number;
}

/** A row and 1 more, 0 in a free slot; and the hash of its id, so that a row is read only when it is the one. */
const SLOT_WORDS = 2;

/**
 * Rows by the ids of their runs: hash tables with open addressing. They are many small ones, so that none takes long to grow.
 */
export class RowIndex {
  readonly #shards: Int32Array[] = Array.from({ length: 1 << SHARD_BITS }, () => new Int32Array(0));
  readonly #sizes = new Int32Array(1 << SHARD_BITS);
  readonly #ids: IdsOfRows;

  constructor(ids: IdsOfRows) {
    this.#ids = ids;
  }

  /** The first row with this id for which it holds. */
  find(words: Words, at: number, holds: (row: number) => boolean): number | undefined {
    const hash = hashOf(words, at);
    const slots = this.#shards[shardOf(hash)];
    if (!slots || slots.length === 0) return undefined;
    const mask = slots.length - 1;
    for (let slot = homeOf(hash, mask); ; slot = (slot + SLOT_WORDS) & mask) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0) return undefined;
      if (slots[slot + 1] === hash && this.#hasId(row, words, at) && holds(row)) return row;
    }
  }

  /** Makes room for so many rows, so that no table grows while they are added. */
  reserve(rows: number): void {
    const slots = 2 ** Math.ceil(Math.log2(Math.max((rows * ROOM) >>> SHARD_BITS, FEWEST_SLOTS)));
    for (const [shard, own] of this.#shards.entries())
      if (own.length < slots * SLOT_WORDS) this.#shards[shard] = grown(own, slots * SLOT_WORDS);
  }

  add(row: number): void {
    const hash = this.#hash(row);
    const shard = shardOf(hash);
    const size = (this.#sizes[shard] ?? 0) + 1;
    this.#sizes[shard] = size;
    let slots = this.#shards[shard] ?? new Int32Array(0);
    if (size * SLOT_WORDS * 4 > slots.length * 3) {
      slots = grown(slots, Math.max(slots.length * 2, FEWEST_SLOTS * SLOT_WORDS));
      this.#shards[shard] = slots;
    }
    put(slots, row + 1, hash);
  }

  delete(row: number): void {
    const hash = this.#hash(row);
    const shard = shardOf(hash);
    const slots = this.#shards[shard] ?? new Int32Array(0);
    const mask = slots.length - 1;
    let free = homeOf(hash, mask);
    while (slots[free] !== row + 1) {
      if (!slots[free]) return;
      free = (free + SLOT_WORDS) & mask;
    }
    this.#sizes[shard] = (this.#sizes[shard] ?? 1) - 1;
    // Those behind it move up, unless they are where they belong.
    for (let next = (free + SLOT_WORDS) & mask; slots[next]; next = (next + SLOT_WORDS) & mask) {
      const home = homeOf(slots[next + 1] ?? 0, mask);
      if (((next - home) & mask) < ((next - free) & mask)) continue;
      slots[free] = slots[next] ?? 0;
      slots[free + 1] = slots[next + 1] ?? 0;
      free = next;
    }
    slots[free] = 0;
  }

  #hash(row: number): number {
    return hashOf(this.#ids.wordsOf(row), this.#ids.firstWordOf(row));
  }

  #hasId(row: number, words: Words, at: number): boolean {
    const own = this.#ids.wordsOf(row);
    const from = this.#ids.firstWordOf(row);
    for (let word = UUID_WORDS - 1; word >= 0; word -= 1)
      if (own[from + word] !== words[at + word]) return false;
    return true;
  }
}

const grown = (slots: Int32Array, length: number): Int32Array => {
  const more = new Int32Array(length);
  for (let slot = 0; slot < slots.length; slot += SLOT_WORDS)
    if (slots[slot]) put(more, slots[slot] ?? 0, slots[slot + 1] ?? 0);
  return more;
};

const put = (slots: Int32Array, entry: number, hash: number): void => {
  const mask = slots.length - 1;
  let slot = homeOf(hash, mask);
  while (slots[slot]) slot = (slot + SLOT_WORDS) & mask;
  slots[slot] = entry;
  slots[slot + 1] = hash;
};

/** Where a row with this hash belongs. `mask`: the length of the slots, which is a power of two, less one. */
const homeOf = (hash: number, mask: number): number => (hash * SLOT_WORDS) & mask;

/** The last half of a UUID of version 7 is random; of others the rest may differ too. */
const hashOf = (words: Words, at: number): number => {
  let hash = 0;
  for (let word = 0; word < UUID_WORDS; word += 1) {
    hash = Math.imul(hash ^ (words[at + word] ?? 0), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash, 0x85ebca6b);
  return hash ^ (hash >>> 13);
};

const shardOf = (hash: number): number => hash >>> (32 - SHARD_BITS);
