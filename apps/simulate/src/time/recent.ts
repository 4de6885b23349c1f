/** Remembers at least so many entries, and forgets older ones. */
export class Recent<Key, Value> {
  readonly #least: number;
  #entries = new Map<Key, Value>();
  #before: ReadonlyMap<Key, Value> = new Map();

  constructor(least: number) {
    this.#least = least;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key) ?? this.#before.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
    if (this.#entries.size < this.#least) return;
    this.#before = this.#entries;
    this.#entries = new Map();
  }
}
