import TinyQueue from 'tinyqueue';

interface Scheduled {
  readonly at: number;
  /** Of events at the same time the one that was scheduled first comes first. */
  readonly order: number;
  readonly work: () => void;
}

/** Virtual time, in milliseconds from 0. It stands still while an event does its work, and jumps to the next one. */
export class Timeline {
  #now = 0;
  #scheduled = 0;
  readonly #queue = new TinyQueue<Scheduled>([], (a, b) => a.at - b.at || a.order - b.order);

  get now(): number {
    return this.#now;
  }

  /** How many events there were. */
  get events(): number {
    return this.#scheduled - this.#queue.length;
  }

  after(ms: number, work: () => void): void {
    this.#scheduled += 1;
    this.#queue.push({ at: this.#now + Math.max(ms, 0), order: this.#scheduled, work });
  }

  /** Does the work of the next event. False when there is none. */
  step(): boolean {
    const next = this.#queue.pop();
    if (!next) return false;
    this.#now = next.at;
    next.work();
    return true;
  }
}
