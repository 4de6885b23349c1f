import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

export interface LogReaderOptions {
  /** Takes the next one. False when there is none. */
  readonly readNext: () => boolean;
  /** The most that are taken at once. */
  readonly batch: number;
}

/** Delivers a stream to a process in its order, after a delay, and not while one cannot reach the other. */
export class LogReader {
  readonly #world: World;
  readonly #process: Process;
  readonly #options: LogReaderOptions;
  #isUnderWay = false;

  constructor(world: World, process: Process, options: LogReaderOptions) {
    this.#world = world;
    this.#process = process;
    this.#options = options;
  }

  /** There is something to take. */
  wake(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#deliverAfter(this.#world.broker.deliveryMs(this.#process));
  }

  #deliverAfter(ms: number): void {
    this.#process.after(ms, () => this.#deliver());
  }

  #deliver(): void {
    const { broker } = this.#world;
    const { random } = this.#process;
    const awayMs = broker.awayMs(this.#process);
    if (awayMs > 0) return this.#deliverAfter(awayMs + broker.delayMs(random));
    const count = 1 + random.integer(0, this.#options.batch - 1);
    let hasMore = true;
    for (let taken = 0; taken < count && hasMore; taken += 1) hasMore = this.#options.readNext();
    if (hasMore) this.#deliverAfter(broker.deliveryMs(this.#process));
    else this.#isUnderWay = false;
  }
}
