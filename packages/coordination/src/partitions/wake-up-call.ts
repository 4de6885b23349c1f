export interface WakeUpCall {
  readonly now: () => void;
  /** Resolves after `now` was called since the last time, when the signal is aborted, or after a while. */
  next(): Promise<void>;
}

/** For a loop that works whenever something has changed, and from time to time in any case. */
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
