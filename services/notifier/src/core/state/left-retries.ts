import type { RunId } from '@runledger/contracts/ids';

/** What follows for a delivery that was attempted, and that TIMERS has no room for. */
export interface LeftRetry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Made in the present round. */
  readonly attempts: number;
}

/** Of too many the oldest is forgotten: its delivery is attempted sooner. */
const MAX_KNOWN = 50_000;

/** When deliveries are attempted again that only the log holds. A process that is killed forgets them. */
export class LeftRetries {
  readonly #known = new Map<RunId, LeftRetry>();

  note(run: RunId, retry: LeftRetry): void {
    this.#known.delete(run);
    this.#known.set(run, retry);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
  }

  of(run: RunId): LeftRetry | undefined {
    return this.#known.get(run);
  }

  forget(run: RunId): void {
    this.#known.delete(run);
  }

  get size(): number {
    return this.#known.size;
  }
}
