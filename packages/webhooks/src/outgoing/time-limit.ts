/** Why this side ended an attempt. */
export type EndReason = 'time_over' | 'interrupted';

/** One signal for the whole attempt. Disposing removes its timer and its listeners. */
export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
  readonly ended: EndReason | undefined;
}

export const limitTime = (withinMs: number, interruptions: readonly AbortSignal[]): TimeLimit => {
  const controller = new AbortController();
  let ended: EndReason | undefined;
  const end = (because: EndReason): void => {
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
