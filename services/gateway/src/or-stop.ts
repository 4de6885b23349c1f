/** Waits for `pending`, but no longer than until `stopping`, whose reason it then rejects with. */
export const orStop = async <Value>(pending: Promise<Value>, stopping: AbortSignal): Promise<Value> => {
  stopping.throwIfAborted();
  const stop = Promise.withResolvers<never>();
  const onAbort = (): void => stop.reject(stopping.reason);
  stopping.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([pending, stop.promise]);
  } finally {
    stopping.removeEventListener('abort', onAbort);
  }
};
