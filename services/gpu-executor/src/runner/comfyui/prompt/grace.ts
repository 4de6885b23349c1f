/** Aborted so many milliseconds after another signal. */
export const graceAfter = (
  signal: AbortSignal,
  graceMs: number,
): Disposable & { readonly signal: AbortSignal } => {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => over.abort(), graceMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    signal: over.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', begin);
    },
  };
};
