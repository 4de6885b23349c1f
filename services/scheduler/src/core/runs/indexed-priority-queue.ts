/**
 * A priority queue from which any item can be removed or moved: a binary heap that knows the index of each item, so both
 * take logarithmic time and no stale entry remains.
 */
export class IndexedPriorityQueue<Item> {
  readonly #entries: { item: Item; rank: number }[] = [];
  readonly #indices = new Map<Item, number>();

  get size(): number {
    return this.#entries.length;
  }

  has(item: Item): boolean {
    return this.#indices.has(item);
  }

  /** The item with the lowest rank. */
  first(): { readonly item: Item; readonly rank: number } | undefined {
    return this.#entries[0];
  }

  /** Adds the item, or moves it to another rank. */
  set(item: Item, rank: number): void {
    this.delete(item);
    this.#entries.push({ item, rank });
    this.#indices.set(item, this.#entries.length - 1);
    this.#rise(this.#entries.length - 1);
  }

  delete(item: Item): void {
    const index = this.#indices.get(item);
    if (index === undefined) return;
    this.#swap(index, this.#entries.length - 1);
    this.#entries.pop();
    this.#indices.delete(item);
    if (index < this.#entries.length) {
      this.#rise(index);
      this.#sink(index);
    }
  }

  #rankAt(index: number): number {
    return this.#entries[index]?.rank ?? Infinity;
  }

  #rise(from: number): void {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1;
      if (this.#rankAt(parent) <= this.#rankAt(index)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(from: number): void {
    for (let index = from; ;) {
      const left = 2 * index + 1;
      const child = this.#rankAt(left + 1) < this.#rankAt(left) ? left + 1 : left;
      if (this.#rankAt(index) <= this.#rankAt(child)) return;
      this.#swap(index, child);
      index = child;
    }
  }

  #swap(a: number, b: number): void {
    const one = this.#entries[a];
    const other = this.#entries[b];
    if (!one || !other) return;
    this.#entries[a] = other;
    this.#entries[b] = one;
    this.#indices.set(other.item, a);
    this.#indices.set(one.item, b);
  }
}
