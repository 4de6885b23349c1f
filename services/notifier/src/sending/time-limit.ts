/** Why a try was ended from outside, whatever the receiver does. */
export type Ended = 'time_over' | 'interrupted';

/** One signal over everything that a try does; disposing takes its timer and its listeners away. */
export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
  readonly ended: Ended | undefined;
}

export const limitTime = (withinMs: number, interruptions: readonly AbortSignal[]): TimeLimit => {
  const controller = new AbortController();
  let ended: Ended | undefined;
  const end = (because: Ended): void => {
    ended ??= because;
    controller.abort();
  };
  const interrupt = (): void => end('interrupted');
  const timer = setTimeout(() => end('time_over'), withinMs);
  for (const interruption of interruptions) {
    if (interruption.aborted) interrupt();
    else interruption.addEventListener('abort', interrupt);
  }
  return {
    signal: controller.signal,
    get ended() {
      return ended;
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const interruption of interruptions) interruption.removeEventListener('abort', interrupt);
    },
  };
};

/** What the promise gives, unless the signal aborts first: then it rejects at once, though the work may go on. */
export const unlessAborted = async <Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> => {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
