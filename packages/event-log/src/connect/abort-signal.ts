/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

/** What the promise gives, unless the signal is aborted first: then it rejects at once with the reason, though the work may go on. */
export const unlessAborted = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = (): void => interrupted.reject(signal.reason);
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    return await Promise.race([work, interrupted.promise]);
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
};
