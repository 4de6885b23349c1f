/** The weights of flows: what they are together, and the greatest. There are few different ones. */
export class Weights {
  readonly #counts = new Map<number, number>();
  #total = 0;
  #greatest = 0;

  get total(): number {
    return this.#total;
  }

  /** 0 without any. */
  get greatest(): number {
    return this.#greatest;
  }

  add(weight: number): void {
    this.#counts.set(weight, (this.#counts.get(weight) ?? 0) + 1);
    this.#total += weight;
    this.#greatest = Math.max(this.#greatest, weight);
  }

  delete(weight: number): void {
    const count = this.#counts.get(weight) ?? 0;
    this.#total -= weight;
    if (count > 1) this.#counts.set(weight, count - 1);
    else {
      this.#counts.delete(weight);
      if (weight === this.#greatest) this.#greatest = Math.max(0, ...this.#counts.keys());
    }
  }
}
