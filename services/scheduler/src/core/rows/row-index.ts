import { UUID_WORDS } from './packed-text.ts';

type Words = Uint32Array;

const SHARD_BITS = 10;
const FEWEST_SLOTS = 8;

/** Where the ids of rows are. */
export interface IdsOfRows {
  readonly wordsOf: (row: number) => Words;
  readonly firstWordOf: (row: number) => number;
}

/**
 * Rows by the ids of their runs: hash tables with open addressing. They are many small ones, so that none takes long to grow.
 */
export class RowIndex {
  /** A row and 1 in each slot; 0 in a free one. */
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
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0) return undefined;
      if (this.#hasId(row, words, at) && holds(row)) return row;
    }
  }

  add(row: number): void {
    const shard = shardOf(this.#hash(row));
    const size = (this.#sizes[shard] ?? 0) + 1;
    this.#sizes[shard] = size;
    let slots = this.#shards[shard] ?? new Int32Array(0);
    if (size * 4 > slots.length * 3) {
      slots = this.#grown(slots);
      this.#shards[shard] = slots;
    }
    this.#put(slots, row);
  }

  delete(row: number): void {
    const hash = this.#hash(row);
    const shard = shardOf(hash);
    const slots = this.#shards[shard] ?? new Int32Array(0);
    const mask = slots.length - 1;
    let free = hash & mask;
    while (slots[free] !== row + 1) {
      if (!slots[free]) return;
      free = (free + 1) & mask;
    }
    this.#sizes[shard] = (this.#sizes[shard] ?? 1) - 1;
    // Those behind it move up, unless they are where they belong.
    for (let next = (free + 1) & mask; slots[next]; next = (next + 1) & mask) {
      const home = this.#hash((slots[next] ?? 0) - 1) & mask;
      if (((next - home) & mask) < ((next - free) & mask)) continue;
      slots[free] = slots[next] ?? 0;
      free = next;
    }
    slots[free] = 0;
  }

  #grown(slots: Int32Array): Int32Array {
    const grown = new Int32Array(Math.max(slots.length * 2, FEWEST_SLOTS));
    for (const slot of slots) if (slot) this.#put(grown, slot - 1);
    return grown;
  }

  #put(slots: Int32Array, row: number): void {
    const mask = slots.length - 1;
    let slot = this.#hash(row) & mask;
    while (slots[slot]) slot = (slot + 1) & mask;
    slots[slot] = row + 1;
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
