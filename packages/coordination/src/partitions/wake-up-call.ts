export interface WakeUpCall {
  readonly now: () => void;
  /** Resolves when `now` was called since the last time, when the signal aborts, or after `everyMs`. */
  next(): Promise<void>;
}

/** For a loop that runs after each change, and periodically. */
export const wakeUpCall = (everyMs: number, over: AbortSignal): WakeUpCall => {
  let called = Promise.withResolvers<void>();
  const now = (): void => called.resolve();
  over.addEventListener('abort', now, { once: true });
  return {
    now,
    next: async () => {
      const timer = setTimeout(now, everyMs);
      await called.promise;
      clearTimeout(timer);
      called = Promise.withResolvers();
    },
  };
};
