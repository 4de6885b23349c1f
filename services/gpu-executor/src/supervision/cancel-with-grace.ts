import type { SupervisedProcess } from './supervised-process.ts';

/** `forced` once SIGKILL had to be sent. */
export interface Cancellation extends Disposable {
  readonly forced: boolean;
}

/** When `signal` is aborted: SIGTERM at once, and SIGKILL to every process that is left after the grace period. */
export const cancelWithGrace = (
  process: Pick<SupervisedProcess, 'terminate' | 'kill'>,
  signal: AbortSignal,
  graceMs: number,
): Cancellation => {
  let forced = false;
  let grace: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    process.terminate();
    grace = setTimeout(() => {
      forced = true;
      process.kill();
    }, graceMs);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return {
    get forced() {
      return forced;
    },
    [Symbol.dispose]: () => {
      clearTimeout(grace);
      signal.removeEventListener('abort', cancel);
    },
  };
};
