/** Waits for what is being opened, but no longer than until `stopping`, whose reason it then rejects with; what opens later is closed. */
export const orStop = async <Opened extends AsyncDisposable>(
  opening: Promise<Opened>,
  stopping: AbortSignal,
): Promise<Opened> => {
  const stop = Promise.withResolvers<never>();
  const onAbort = (): void => stop.reject(stopping.reason);
  if (stopping.aborted) onAbort();
  stopping.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([opening, stop.promise]);
  } catch (error) {
    void opening.then((late) => late[Symbol.asyncDispose]()).catch(() => undefined);
    throw error;
  } finally {
    stopping.removeEventListener('abort', onAbort);
  }
};
