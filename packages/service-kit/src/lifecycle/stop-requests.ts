import type { Logger } from '../observability/logger.ts';
import { describeStop, ServiceStopping } from '../health/stop-reason.ts';
import type { StopReason } from '../health/stop-reason.ts';

/** The reasons to stop this process. A process has one. */
export interface StopRequests {
  /** Aborted at the first reason to stop. */
  readonly stopping: AbortSignal;
  /** The first reason; it never rejects. */
  readonly first: Promise<StopReason>;
  /** Whether there was an unhandled error, before or during the stop. */
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

  // Ctrl-C reaches the whole process group, npm forwards it, and a parent may add SIGTERM: all this is one request. SIGKILL ends
  // the process before the deadline.
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
  process.on('uncaughtException', (error) => onFatal(error, 'uncaught exception'));
  process.on('unhandledRejection', (error) => onFatal(error, 'unhandled promise rejection'));

  // After the parent was killed, standard error is a broken pipe. That must not become an uncaught exception.
  process.stderr.on('error', () => {});
  process.on('disconnect', () => stop({ kind: 'parent_ended' }));
  // The parent may have ended while this process loaded its modules.
  if (process.send !== undefined && !process.connected) stop({ kind: 'parent_ended' });

  return { stopping: controller.signal, first: first.promise, hadFatalError: () => fatal, stop };
};
