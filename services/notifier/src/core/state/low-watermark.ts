/** Up to where everything is settled, in a stream that is taken in order and settled in any order. */
export class LowWatermark {
  /** How often each is open, in the order of the sequences, since they are taken in order. */
  readonly #open = new Map<number, number>();
  #taken: number;

  constructor(from: number) {
    this.#taken = from;
  }

  /** It is taken. It is settled when `settle` is called as often as `open`. */
  open(sequence: number): void {
    this.#open.set(sequence, (this.#open.get(sequence) ?? 0) + 1);
  }

  settle(sequence: number): void {
    const times = this.#open.get(sequence) ?? 0;
    if (times > 1) this.#open.set(sequence, times - 1);
    else this.#open.delete(sequence);
  }

  /** Everything up to here was taken. */
  take(sequence: number): void {
    this.#taken = Math.max(this.#taken, sequence);
  }

  taken(): number {
    return this.#taken;
  }

  /** Everything up to here is settled. */
  low(): number {
    const [first] = this.#open.keys();
    return first === undefined ? this.#taken : first - 1;
  }
}
