import CircuitBreaker from 'opossum';

/** Why a caller does not get the result of the action. */
export type NoResult =
  | { readonly kind: 'circuit_open' | 'timeout' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface BreakerOptions<Args extends readonly unknown[], Result> {
  /** The call to the other system. Each call has its own signal, which aborts at the timeout. */
  readonly action: (signal: AbortSignal, ...args: Args) => Promise<Result>;
  /** How long a caller waits for the action. */
  readonly timeoutMs: number;
  /** What a caller gets instead of the action's result. It may throw. */
  readonly fallback: (why: NoResult, ...args: Args) => Result;
  /**
   * `first_failure`: for calls whose late result is useless. `most_fail`: when at least 5 calls were made in 10 s and more
   * than half of them failed.
   */
  readonly opensOn: 'first_failure' | 'most_fail';
  /** Called when the circuit opens, and when it closes again; not for a probe that failed. */
  readonly onChange?: (state: 'open' | 'closed') => void;
}

/** While the circuit is open, one call a second is a probe, and no other call waits. */
export interface Breaker<Args extends readonly unknown[], Result> extends Disposable {
  readonly call: (...args: Args) => Promise<Result>;
}

const PROBE_EVERY_MS = 1_000;
/** Longer than any timeout: in a shorter window opossum forgets the calls of which it counts the failures. */
const WINDOW_MS = 10_000;

const THRESHOLDS = {
  first_failure: { volumeThreshold: 0, errorThresholdPercentage: 0 },
  most_fail: { volumeThreshold: 5, errorThresholdPercentage: 50 },
} as const;

/**
 * A circuit breaker around calls to another system. Some options of opossum are left out on purpose: a `capacity`
 * counts its own refusals as failures; an `errorFilter` counts the errors that it ignores as successes, which close a
 * half-open circuit; and one `abortController` serves all calls, so one timeout aborts the others.
 */
export const openBreaker = <Args extends readonly unknown[], Result>({
  action,
  timeoutMs,
  fallback,
  opensOn,
  onChange,
}: BreakerOptions<Args, Result>): Breaker<Args, Result> => {
  // An async function: opossum does not count an error thrown before the first await as a failed call.
  const circuit = new CircuitBreaker<Args, Result>(
    async (...args) => abortingAfter(timeoutMs, (signal) => action(signal, ...args)),
    {
      ...THRESHOLDS[opensOn],
      timeout: timeoutMs,
      resetTimeout: PROBE_EVERY_MS,
      rollingCountTimeout: WINDOW_MS,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    },
  );
  circuit.fallback((...argsAndError) => {
    const args = argsAndError.slice(0, -1) as unknown as Args;
    return fallback(whyOf(argsAndError.at(-1) as Error), ...args);
  });
  let isOpen = false;
  circuit.on('open', () => {
    if (!isOpen) onChange?.('open');
    isOpen = true;
  });
  circuit.on('close', () => {
    if (isOpen) onChange?.('closed');
    isOpen = false;
  });
  return {
    call: (...args) => circuit.fire(...args),
    [Symbol.dispose]: () => circuit.shutdown(),
  };
};

/** Unlike `AbortSignal.timeout`, it leaves nothing behind when the work is done in time: that would fire for each call, much later. */
const abortingAfter = async <Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  try {
    return await work(late.signal);
  } finally {
    clearTimeout(timer);
  }
};

const whyOf = (error: Error): NoResult => {
  if (!CircuitBreaker.isOurError(error)) return { kind: 'failed', error };
  return { kind: 'code' in error && error.code === 'ETIMEDOUT' ? 'timeout' : 'circuit_open' };
};
