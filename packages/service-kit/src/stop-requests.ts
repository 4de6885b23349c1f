import type { Logger } from './logger.ts';

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

/** Why a service stops; the first reason counts. */
export type StopReason =
  | { readonly kind: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT' }
  | { readonly kind: 'parent_ended' }
  | { readonly kind: 'start_failed'; readonly error: unknown }
  | { readonly kind: 'fatal'; readonly error: unknown };

/** The reason of the `stopping` signal. Work that the signal aborts rejects with this error. */
export class ServiceStopping extends Error {
  override readonly name = 'ServiceStopping';
  readonly stop: StopReason;

  constructor(stop: StopReason) {
    super(`the service is stopping: ${describeStop(stop)}`);
    this.stop = stop;
  }
}

export const describeStop = (stop: StopReason): string => {
  switch (stop.kind) {
    case 'signal':
      return `${stop.signal} was received`;
    case 'parent_ended':
      return 'the parent process has ended';
    case 'start_failed':
      return 'it could not start';
    case 'fatal':
      return 'an unhandled error';
  }
};

/** Undefined if the signal is not aborted, or is not the `stopping` signal of a service. */
export const stopReason = (stopping: AbortSignal): StopReason | undefined =>
  stopping.reason instanceof ServiceStopping ? stopping.reason.stop : undefined;
