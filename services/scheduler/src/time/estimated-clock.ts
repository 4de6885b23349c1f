/** Two windows of this length are looked at: a broker's clock that is set back is believed after ten minutes. */
const WINDOW_MS = 300_000;

/**
 * The broker's clock, estimated from the time stamps that it gives and the monotonic time at which they arrive; this machine's own
 * wall clock is never asked. A stamp is always older than its arrival, so the least delayed one is nearest to
 * the truth, and the estimate is late by that delay rather than early: nothing is ended before its time.
 */
export class EstimatedClock {
  #before = -Infinity;
  #offset = -Infinity;
  #since = -Infinity;

  /** A message with the broker's stamp `brokerMs` (since 1970) arrived at the monotonic time `atMs`. */
  sample(brokerMs: number, atMs: number): void {
    if (!Number.isFinite(brokerMs)) return;
    if (atMs - this.#since >= WINDOW_MS) {
      this.#before = this.#offset;
      this.#offset = -Infinity;
      this.#since = atMs;
    }
    this.#offset = Math.max(this.#offset, brokerMs - atMs);
  }

  /** The broker's time at the monotonic time `atMs`, in milliseconds since 1970; undefined before the first sample. */
  at(atMs: number): number | undefined {
    const offset = Math.max(this.#before, this.#offset);
    return offset === -Infinity ? undefined : offset + atMs;
  }
}
