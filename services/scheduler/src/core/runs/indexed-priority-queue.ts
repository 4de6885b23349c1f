/**
 * A set whose first item is always at hand: the one with the lowest rank. A binary heap that knows where each item
 * is, so that an item can be taken out or moved in logarithmic time and nothing stale is left behind.
 */
export class IndexedPriorityQueue<Item> {
  readonly #entries: { item: Item; rank: number }[] = [];
  readonly #places = new Map<Item, number>();

  get size(): number {
    return this.#entries.length;
  }

  /** The item with the lowest rank. */
  first(): { readonly item: Item; readonly rank: number } | undefined {
    return this.#entries[0];
  }

  /** Adds the item, or moves it to another rank. */
  set(item: Item, rank: number): void {
    this.delete(item);
    this.#entries.push({ item, rank });
    this.#places.set(item, this.#entries.length - 1);
    this.#rise(this.#entries.length - 1);
  }

  delete(item: Item): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#swap(place, this.#entries.length - 1);
    this.#entries.pop();
    this.#places.delete(item);
    if (place < this.#entries.length) {
      this.#rise(place);
      this.#sink(place);
    }
  }

  #rankAt(place: number): number {
    return this.#entries[place]?.rank ?? Infinity;
  }

  #rise(from: number): void {
    for (let place = from; place > 0;) {
      const parent = (place - 1) >> 1;
      if (this.#rankAt(parent) <= this.#rankAt(place)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    for (let place = from; ;) {
      const left = 2 * place + 1;
      const child = this.#rankAt(left + 1) < this.#rankAt(left) ? left + 1 : left;
      if (this.#rankAt(place) <= this.#rankAt(child)) return;
      this.#swap(place, child);
      place = child;
    }
  }

  #swap(a: number, b: number): void {
    const one = this.#entries[a];
    const other = this.#entries[b];
    if (!one || !other) return;
    this.#entries[a] = other;
    this.#entries[b] = one;
    this.#places.set(other.item, a);
    this.#places.set(one.item, b);
  }
}
