import type { Logger } from '../observability/logger.ts';
import { describeStop, ServiceStopping } from '../health/stop-reason.ts';
import type { StopReason } from '../health/stop-reason.ts';

/** Why the process has to stop. There is one for each process. */
export interface StopRequests {
  /** Aborted at the first reason to stop. */
  readonly stopping: AbortSignal;
  /** The first reason; it never rejects. */
  readonly first: Promise<StopReason>;
  /** An error that nothing handled happened, before the stop or during it. */
  readonly hadFatalError: () => boolean;
  readonly stop: (reason: StopReason) => void;
}

/** Listens to signals, unhandled errors and the parent process until the process exits. */
export const listenForStop = (logger: Logger): StopRequests => {
  const controller = new AbortController();
  const first = Promise.withResolvers<StopReason>();
  let fatal = false;

  const stop = (reason: StopReason): void => {
    if (controller.signal.aborted) return;
    logger.info(`stopping: ${describeStop(reason)}`);
    controller.abort(new ServiceStopping(reason));
    first.resolve(reason);
  };

  // A Ctrl-C reaches the whole process group, npm forwards it once more, and a parent then sends SIGTERM: this is one
  // request. SIGKILL is for those who cannot wait for the deadline.
  const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
    if (controller.signal.aborted) logger.info(`${signal} ignored: the service is stopping already`);
    else stop({ kind: 'signal', signal });
  };
  process.on('SIGTERM', () => onSignal('SIGTERM'));
  process.on('SIGINT', () => onSignal('SIGINT'));

  const onFatal = (error: unknown, what: string): void => {
    fatal = true;
    logger.fatal({ err: error }, what);
    stop({ kind: 'fatal', error });
  };
  process.on('uncaughtException', (error) => onFatal(error, 'an exception that nothing caught'));
  process.on('unhandledRejection', (error) => onFatal(error, 'a rejected promise that nothing handled'));

  // After the parent was killed, standard error is a broken pipe: that must not become an uncaught exception.
  process.stderr.on('error', () => {});
  process.on('disconnect', () => stop({ kind: 'parent_gone' }));
  // The parent may have died while this process was loading its modules, before it listened.
  if (process.send !== undefined && !process.connected) stop({ kind: 'parent_gone' });

  return { stopping: controller.signal, first: first.promise, hadFatalError: () => fatal, stop };
};
