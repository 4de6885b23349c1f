const WINDOW_MS = 300_000;
/** Clocks of brokers may differ by that much, and slow clocks are corrected in such steps. */
const TOLERANCE_MS = 1_000;

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

  /** The estimate covers the last two windows of `windowMs`, and a clock that is set back is believed after them, or after a response. */
  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /**
   * A message with the broker's stamp `brokerMs` (since 1970) arrived at the monotonic time `atMs`. In the response to a request that
   * was sent at `sentMs` the stamp is not older than that, so a clock that shows less was set back, or another broker leads.
   */
  sample(brokerMs: number, atMs: number, sentMs = -Infinity): void {
    if (!Number.isFinite(brokerMs)) return;
    const isSetBack = Math.max(this.#before, this.#offset) > brokerMs - sentMs + TOLERANCE_MS;
    if (isSetBack) this.#before = this.#offset = -Infinity;
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
