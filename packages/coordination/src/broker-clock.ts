const WINDOW_MS = 300_000;

/**
 * The broker's clock, estimated from its time stamps and the monotonic time at which they arrive: `polledClock` feeds it with the
 * responses to its questions, the scheduler with every message that it reads. It never reads this machine's wall clock. A stamp is
 * always older than its arrival, so the least delayed one is nearest to the truth, and the estimate is late by that delay rather
 * than early: nothing ends before its time.
 */
export class BrokerClock {
  readonly #windowMs: number;
  #before = -Infinity;
  #offset = -Infinity;
  #since = -Infinity;

  /** The estimate covers the last two windows of `windowMs`: a broker's clock that is set back is believed after them. */
  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /** A message with the broker's stamp `brokerMs` (since 1970) arrived at the monotonic time `atMs`. */
  sample(brokerMs: number, atMs: number): void {
    if (!Number.isFinite(brokerMs)) return;
    if (atMs - this.#since >= this.#windowMs) {
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
