/** Aborts a request when it takes too long, or when the caller aborts it. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** So many milliseconds from now on. */
  readonly extend: (ms: number) => void;
  /** From now on only the signal of the caller aborts it. */
  readonly lift: () => void;
  /** When the request is over: nothing aborts it any more. */
  readonly close: () => void;
}

/** `AbortSignal.any` and `AbortSignal.timeout` would leave a listener on a signal that lives long. */
export const timeLimit = (ms: number, caller: AbortSignal | undefined): TimeLimit => {
  const abort = new AbortController();
  const endAfter = (ms: number): ReturnType<typeof setTimeout> =>
    setTimeout(() => abort.abort(new Error(`nothing came for ${ms / 1_000} s`)), ms);
  let timer = endAfter(ms);
  const onAbort = (): void => abort.abort(caller?.reason);
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: abort.signal,
    extend: (ms) => {
      clearTimeout(timer);
      timer = endAfter(ms);
    },
    lift: () => clearTimeout(timer),
    close: () => {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
};
